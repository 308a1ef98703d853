# shellcheck shell=bash disable=SC2034
# Sourced by backup and restore: the options, the pipelines of programs, the statements, and the files of a site.
#
# A backup is a tar archive, compressed by gzip and encrypted by age. It holds a tar archive with the secrets and the
# configuration, then the dump in pieces, because tar needs the size of a file before its content, then the manifest.
#
# Secrets and pieces of the dump are only in pipes and in two files in memory without a name: the kernel deletes them
# when the last program ends, also if it is killed.

umask 077
export LC_ALL=C
share=${BASH_SOURCE[0]%/*}
piece=/dev/fd/5 configuration=/dev/fd/6 # the two files
memory='' # folder in memory for messages and the manifest
failure='' # sentence about the program that failed
# The options. The client's options hold no password, because other users see a program's arguments.
companion='' version='' schema_version='' root='' database='' json='' dry_run='' client=()
to='' recipients=() file='' identity='' schema='' replace='' accept_lost_keys='' yes=''

die() { printf 'Error: %s\n' "${*# }" >&2; exit 1; }
printable() { tr -d '\n' | tr '[:cntrl:]' '?'; }

# begin NAME=VALUE…: reads the options, which the companion has checked, and prepares for the work.
begin() {
  local word missing=()
  for word; do
    case $word in
      client=* | recipients=*) declare -n list=${word%%=*}; list+=("${word#*=}") ;;
      *) printf -v "${word%%=*}" %s "${word#*=}" ;;
    esac
  done
  root=${root%/}
  [[ -n $root ]] || ((EUID == 0)) ||
    die 'Only root can read the secrets and the whole database: run this command as root.'
  command -v age >/dev/null || missing+=(age)
  command -v mariadb-dump >/dev/null || missing+=(mariadb-client)
  command -v jq >/dev/null || missing+=(jq)
  ((${#missing[@]} == 0)) || die "Programs are missing. Install them: apt-get install ${missing[*]}"
  trap end EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  memory=$(mktemp -d /dev/shm/switchboard-XXXXXX 2>/dev/null) || die '/dev/shm cannot be written: make room there.'
  exec 5<>"$memory/piece" 6<>"$memory/configuration" 7>&2 8<"$memory"
  rm "$memory/piece" "$memory/configuration"
  flock 8 # until the last program of this command ends
  printf '%s\n' "${client[@]}" >"$memory/client"
  remove_leftovers
}

# Removes what killed commands have left: their unlocked folders in memory, and the incomplete file, or database of the same
# server, that each folder names.
remove_leftovers() {
  local folder
  while IFS= read -r folder; do
    { exec 9<"$folder" && flock --nonblock 9; } 2>/dev/null || continue
    [[ ! -s $folder/part ]] || rm -f -- "$(<"$folder/part")"
    if [[ -s $folder/loading ]]; then
      { cmp -s "$folder/client" "$memory/client" && sql remove '' "name=$(<"$folder/loading")"; } || continue
    fi
    rm -rf "$folder"
  done < <(find /dev/shm -maxdepth 1 -type d -user "$EUID" -name 'switchboard-??????' -mmin +1)
}

# Ends the programs that run, and removes everything that is not complete.
end() {
  trap '' INT TERM HUP
  # shellcheck disable=SC2046 # one word for each process
  kill $(<"/proc/$$/task/$$/children") 2>/dev/null || true
  remove_incomplete
  rm -rf "$memory"
}

# stage PROGRAM ARGUMENT…: runs one program of a pipeline. If it fails, keeps the reason for `failed`. After SIGPIPE a
# later program is the reason.
stage() {
  local status=0 message
  rm -f "$memory/$1.failed"
  # The program ends with this shell. The shell's message about a killed program is not needed.
  { setpriv --pdeathsig TERM "$@" 2>"$memory/$1.err"; } 2>/dev/null || status=$?
  ((status != 0 && status != 141)) || return 0
  # The client of MariaDB prints the statement before the error.
  message=$(grep -m 1 '^ERROR ' "$memory/$1.err" || head -n 1 "$memory/$1.err")
  printf '%s failed: %s' "$1" "${message:-no error message}" | printable >"$memory/$1.failed"
}

# failed PROGRAM…: true if one of them failed. Sets `failure` to the sentence about the first one.
failed() {
  local program
  for program; do
    [[ -s $memory/$program.failed ]] || continue
    failure=$(<"$memory/$program.failed")
    rm "$memory/$program.failed"
    return 0
  done
  return 1
}

# refuse [SENTENCES]: dies because MariaDB's client has failed.
refuse() {
  failed mariadb || failure='The companion has not printed its statements.'
  die "$* $failure"
}

# sql SCRIPT DATABASE [NAME=VALUE…]: runs a script with variables, in a database or in none. Prints its rows. The values
# have letters, digits, blanks and _:.- only.
sql() {
  local setting
  {
    for setting in "${@:3}"; do
      printf "SET @%s = '%s' COLLATE utf8mb4_nopad_bin;\n" "${setting%%=*}" "${setting#*=}"
    done
    "$companion" backup-sql "$1"
  } | mariadb_in "$2"
}

# mariadb_in DATABASE: runs the statements of the input.
mariadb_in() {
  stage mariadb "${client[@]}" --batch --skip-column-names --default-character-set=utf8mb4 ${1:+-- "$1"}
  [[ ! -e $memory/mariadb.failed ]]
}

# Checks the name of the database: it is safe in statements, and short enough for suffixes.
check_database_name() {
  [[ $database =~ ^[A-Za-z0-9_]{1,40}$ ]] ||
    die "$(printable <<<"$database") is not a valid name for a database of Switchboard."
}

# Packs the files of the site that exist. Fails if there is none.
pack_files() {
  local path paths=()
  for path in "$root"/etc/switchboard "$root"/etc/nginx/sites-{available,enabled}/switchboard \
    "$root"/etc/nginx/switchboard/{pairing.allow,uncounted} "$root"/etc/systemd/system/switchboard-*.d ${root:+"$root/secrets"}; do
    [[ ! -e $path && ! -L $path ]] || paths+=("${path#"$root/"}")
  done
  ((${#paths[@]})) || return
  stage tar --create --file=- --format=ustar --directory="$root/" --exclude='before-restore-*' -- "${paths[@]}"
  [[ ! -e $memory/tar.failed ]]
}

# missing_keys <SEALS: prints the keys that sealed values in the database need and that the packed files lack.
missing_keys() {
  "$companion" missing-keys <(secret companion-keys) <(secret credential-keys)
}

# secret NAME: prints a packed file of secrets; nothing if it is not there.
secret() {
  tar --extract --to-stdout --file="$configuration" "etc/switchboard/secrets/$1" 2>/dev/null ||
    tar --extract --to-stdout --file="$configuration" "secrets/$1" 2>/dev/null || true
}

# add_part NAME SIZE <CONTENT: adds a line to the list of parts, and shows the progress on a terminal.
add_part() {
  local sum
  sum=$(sha256sum)
  printf '%s\t%s\t%s\n' "$1" "$2" "${sum%% *}" >>"$memory/parts"
  [[ ! -t 7 ]] || printf '\r%s MiB' $(($(dump_size) >> 20)) >&7
}

# dump_size: prints the size of the dump's pieces so far, in bytes.
dump_size() { awk '$1 != "configuration.tar" { size += $2 } END { printf "%d", size }' "$memory/parts"; }

end_progress() { [[ ! -t 7 ]] || printf '\r\033[K' >&7; }

# json_lines: prints the lines of the input as a JSON array.
json_lines() { jq --null-input --raw-input --compact-output '[inputs]'; }
