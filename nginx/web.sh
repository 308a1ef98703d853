# shellcheck shell=bash
# shellcheck disable=SC2154 # setup.sh sets root
# Sourced by nginx/run: starts the web server that SWITCHBOARD_WEB chooses, with its files of nginx/.

# nginx/run sets these: the state directory, its directory of sockets, the site's port, the directory of the programs.
state='' run='' port='' bin=''

# nginx, apache and lighttpd connect to the responder's socket; lighttpd-child starts the responder once; apache-cgi and
# lighttpd-cgi start it for each request.
web=${SWITCHBOARD_WEB:-nginx}
# The web server's address. With SWITCHBOARD_WEB_PROXY=1, HAProxy is in front of the web server and connects from 127.0.0.5.
listen=127.0.0.1
[[ -z ${SWITCHBOARD_WEB_PROXY-} ]] || listen=127.0.0.4

web_packages() {
  [[ $listen == 127.0.0.1 ]] || echo haproxy
  case $web in
    nginx) ;;
    apache | apache-cgi) echo apache2 libapache2-mod-qos ;;
    lighttpd | lighttpd-child | lighttpd-cgi) echo lighttpd lighttpd-modules-lua ;;
    *) die "SWITCHBOARD_WEB is $web; it must be nginx, apache, apache-cgi, lighttpd, lighttpd-child or lighttpd-cgi" ;;
  esac
}

# Succeeds if the responder runs by itself, not as a child of the web server.
has_responder() { case $web in nginx | apache | lighttpd) ;; *) return 1 ;; esac; }

start_web() {
  rm -rf "$state/switchboard"
  ln -s "$root/nginx" "$state/switchboard"
  has_responder || write_responder_program
  [[ $listen == 127.0.0.1 ]] || start_proxy
  case $web in
    nginx) start_nginx ;;
    apache*) start_apache ;;
    lighttpd*) start_lighttpd ;;
  esac
}

# Starts HAProxy. The web server then trusts every client of HAProxy; only the responder checks the client's address.
start_proxy() {
  rm -rf "$state/switchboard"
  mkdir "$state/switchboard"
  ln -s "$root"/nginx/* "$state/switchboard"
  echo 'allow 127.0.0.5;' >"$state/switchboard/pairing.allow"
  echo "127.0.0.5 '';" >"$state/switchboard/uncounted"
  cat >"$state/proxy.cfg" <<END
defaults
  mode http
  timeout connect 5s
  timeout client 20s
  timeout server 20s
  timeout tunnel 1h
frontend people
  bind 127.0.0.1:$port
  # The responder takes no address of this machine from a field, so the clients of the tests get others: 192.0.2.1 is
  # 127.0.0.1.
  http-request add-header X-Forwarded-For %[src,regsub(^127[.]0[.]0[.],192.0.2.)]
  default_backend site
backend site
  source 127.0.0.5
  server site $listen:$port
END
  haproxy -c -q -f "$state/proxy.cfg" || fail 'HAProxy refuses its configuration'
  keep proxy haproxy -db -f "$state/proxy.cfg"
}

# Writes a program that starts the responder with its variables, for web servers that start it.
write_responder_program() (
  enter_environment responder
  {
    echo '#!/bin/bash'
    declare -px
    printf 'exec %q\n' "$bin/switchboard-responder"
  } >"$state/responder.cgi"
  chmod 700 "$state/responder.cgi"
)

start_nginx() {
  {
    ((EUID != 0)) || echo 'user root root;' # other users may not have access to the state
    cat <<END
worker_processes auto;
worker_rlimit_nofile 16384;
pid "$run/nginx-master.pid";
error_log "$state/log/web-error.log";
events { worker_connections 8192; }
http {
  client_body_temp_path "$state/tmp/body";
  fastcgi_temp_path "$state/tmp/fastcgi";
  proxy_temp_path "$state/tmp/proxy";
  scgi_temp_path "$state/tmp/scgi";
  uwsgi_temp_path "$state/tmp/uwsgi";
  include switchboard/http.conf;
  upstream switchboard {
    server "unix:$run/responder.sock";
    keepalive 16;
    keepalive_requests 1000;
    keepalive_time 1s;
    keepalive_timeout 1s;
  }
  upstream switchboard_relay {
    server "unix:$run/relay.sock" max_fails=0;
    keepalive 16;
    keepalive_requests 1000;
    keepalive_time 1s;
    keepalive_timeout 1s;
  }
  server {
    listen $listen:$port;
    access_log "$state/log/web-access.log" switchboard;
    set \$acme_folder "$state/acme";
    include switchboard/acme.conf;
    include switchboard/server.conf;
  }
}
END
  } >"$state/nginx.conf"
  local nginx=(nginx -c "$state/nginx.conf" -e "$state/log/web-error.log")
  "${nginx[@]}" -t -q || fail 'nginx refuses its configuration'
  keep web "${nginx[@]}" -g 'daemon off;'
}

# Starts Apache, which does not serve as root. If we are root, it runs as www-data and may still read root's files.
start_apache() {
  local module way=fastcgi modules=(
    mpm_event authz_core authz_user authn_core authnz_fcgi alias cgid env headers proxy proxy_fcgi proxy_http
    proxy_wstunnel qos reqtimeout rewrite setenvif unique_id
  )
  local apache=(apache2 -f "$state/apache.conf")
  [[ $web == apache ]] || way=cgi
  {
    cat <<END
ServerRoot "$state"
ServerName localhost
PidFile "$run/apache-master.pid"
DefaultRuntimeDir "$run"
Mutex "file:$run" default
ErrorLog "$state/log/web-error.log"
DocumentRoot "$state/tmp"
Listen $listen:$port
Define SWITCHBOARD_RUN "$run"
Define SWITCHBOARD_PROGRAM "$state/responder.cgi"
Define SWITCHBOARD_AUTHORIZER 127.0.0.3:$port
Define SWITCHBOARD_ACME "$state/acme"
END
    # Debian 12's mod_qos needs this library but does not load it.
    sed -n 's/.*libpcre\.so\.3 .*=> /LoadFile /p;T;q' < <(ldconfig -p)
    for module in "${modules[@]}"; do echo "LoadModule ${module}_module /usr/lib/apache2/modules/mod_$module.so"; done
    cat <<END
ScriptSock "$run/cgid.sock"
Include switchboard/apache/workers.conf
Include switchboard/apache/server.conf
<VirtualHost $listen:$port>
  CustomLog "$state/log/web-access.log" switchboard
  Include switchboard/apache/site.conf
  Include switchboard/apache/agent.conf
  Include switchboard/apache/$way.conf
</VirtualHost>
END
  } >"$state/apache.conf"
  ((EUID != 0)) || apache=(
    setpriv --reuid=www-data --regid=www-data --clear-groups --inh-caps=+dac_override --ambient-caps=+dac_override
    "${apache[@]}"
  )
  "${apache[@]}" -t 2>>"$state/log/web-error.log" || fail 'Apache refuses its configuration' web-error.log
  (
    enter_environment responder
    keep authorizer "$bin/switchboard-responder"
  )
  keep web "${apache[@]}" -DFOREGROUND
}

start_lighttpd() {
  local way=fastcgi agent=agent
  [[ $web == lighttpd ]] || way=${web#lighttpd-} agent=agent-child
  [[ $web != lighttpd-child || $state != *' '* ]] ||
    die "lighttpd can start no program below $state, because of the space: choose another --state"
  cat >"$state/lighttpd.conf" <<END
server.bind = "$listen"
server.port = $port
server.document-root = "$state/tmp"
server.errorlog = "|$root/nginx/lighttpd/redact '$state/log/web-error.log'"
server.breakagelog = "$state/log/web-error.log"
server.upload-dirs = ("$state/tmp")
accesslog.filename = "$state/log/web-access.log"
var.switchboard = "$root/nginx/lighttpd"
var.switchboard_run = "$run"
var.switchboard_program = "$state/responder.cgi"
var.switchboard_acme = "$state/acme"
include "$root/nginx/lighttpd/site.conf"
include "$root/nginx/lighttpd/$way.conf"
include "$root/nginx/lighttpd/$agent.conf"
include "$root/nginx/lighttpd/acme.conf"
END
  lighttpd -tt -f "$state/lighttpd.conf" || fail 'lighttpd refuses its configuration'
  keep web lighttpd -D -f "$state/lighttpd.conf"
}
