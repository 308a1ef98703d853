# shellcheck shell=bash
# Sourced by nginx/run: keeps the programs of a site running, each under its own runsv, and stops them.

# nginx/run sets these: the state directory, its directory of sockets and pids, the id of this boot, and the site's port.
state='' run='' boot='' port=''

services=(proxy web authorizer relay companion responder apns fcm ogs bank shop mariadb) # in the order of stopping

# keep NAME COMMAND…: starts runsv, which keeps the command running, in its own session. runsv inherits no open files and
# no signal settings of our caller.
keep() {
  local name=$1 log=$1 service=$state/services/$1 shell=/bin/bash socket=() stat fd
  shift
  case $name in
    web) log=web-error ;;
    # spawn-fcgi opens the socket as fd 0 and becomes runsv. The program inherits the socket at each start, so the socket
    # outlives the program, and requests wait in it.
    authorizer) socket=(spawn-fcgi -n -a 127.0.0.3 -p "$port" --) ;; # its own loopback address, where the port is free
    companion | responder | relay) socket=(spawn-fcgi -n -s "$run/$name.sock" -M 0660 --) ;;&
    # Blocks SIGTERM, so that an early SIGTERM waits until the responder answers the waiting requests.
    responder) shell='/usr/bin/env -S --block-signal=TERM bash' ;;
  esac
  mkdir -p "$service"
  cat >"$service/run" <<END
#!$shell
TZ=UTC0 printf '%(%FT%TZ)T %s\n' -1 'starting $name'
echo \$\$ >$(printf %q "$run/$name.pid")
exec$(printf ' %q' "$@")
END
  chmod +x "$service/run"
  (
    for fd in "/proc/$BASHPID/fd"/*; do
      fd=${fd##*/}
      ((fd <= 2 || fd == 255)) || exec {fd}>&- # 255 is the shell's own
    done
    exec setsid env --default-signal "${socket[@]}" "$(type -P runsv)" "$service"
  ) </dev/null >>"$state/log/$log.log" 2>&1 &
  stat_of $!
  echo "$! ${stat[19]} $boot" >"$run/$name.keeper"
}

# stat_of PID: sets $stat to the fields of /proc/PID/stat, starting at the third: 0 is the state, 19 the start time.
stat_of() {
  local line
  { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
  read -ra stat <<<"${line##*) }"
}

# keeper_of NAME: sets $keeper to the pid of the runsv that keep recorded. Fails if another process now has this pid.
keeper_of() {
  local started recorded stat
  { read -r keeper started recorded <"$run/$1.keeper"; } 2>/dev/null || return 1
  [[ $recorded == "$boot" ]] || return 1
  ! stat_of "$keeper" || [[ ${stat[19]} == "$started" ]]
}

alive() {
  local keeper stat
  keeper_of "$1" && stat_of "$keeper" && [[ ${stat[0]} != Z ]]
}

# members NAME: prints the running processes of the session, also after runsv has ended. Fails if there are none.
members() {
  local keeper
  keeper_of "$1" && pgrep --runstates DIRSTt --session "$keeper"
}

# stop_service NAME SECONDS: ends the program and all processes that it started; kills them after that time.
stop_service() {
  local name=$1 deadline=$((SECONDS + $2)) keeper pids told=''
  [[ -e $run/$name.keeper ]] || return 0
  if alive "$name"; then
    keeper_of "$name"
    kill -TERM "$keeper" 2>/dev/null || true # runsv ends the program and then exits
  fi
  while alive "$name" && ((SECONDS < deadline)); do sleep 0.1; done # takes less of the processor than members
  while mapfile -t pids < <(members "$name") && ((${#pids[@]})); do
    if ((SECONDS >= deadline)); then
      kill -KILL "${pids[@]}" 2>/dev/null || true
    elif [[ -z $told ]] && ! alive "$name"; then # only orphans are left
      kill -TERM "${pids[@]}" 2>/dev/null || true
      told=1
    fi
    sleep 0.1
  done
  rm -f "$run/$name.keeper" "$run/$name.pid"
}

stop_site() {
  local name
  for name in "${services[@]}"; do
    # Wait limits in seconds: a responder finishes its requests within 9 s, and a database may have much to write.
    case $name in mariadb) stop_service "$name" 60 ;; *) stop_service "$name" 15 ;; esac
  done
  rm -rf "$run"/*.sock "$run"/*-master.pid "$run/port" "$state/services"
  if [[ -L $state/run ]]; then
    rm -rf "$run"
    rm -f "$state/run"
  fi
}

running() {
  local name
  for name in "${services[@]}"; do
    case $name in proxy | authorizer | responder | apns | fcm | ogs | bank | shop) [[ -e $run/$name.keeper ]] || continue ;; esac # not in every site
    alive "$name" || return 1
  done
}
