# shellcheck shell=bash
# Sourced by nginx/run: the private MariaDB of a site.

# nginx/run sets these: the state directory, and its directory of sockets and pids.
state='' run=''

# make_database [OPTION…]: makes the data directory, or copies the one that SWITCHBOARD_MARIADB_TEMPLATE names, which the
# first of several sites makes.
make_database() {
  local template=${SWITCHBOARD_MARIADB_TEMPLATE-}
  say 'Making the database'
  rm -rf "$state/mariadb.new"
  if [[ -z $template ]]; then
    make_data "$state/mariadb.new" "$@"
  else
    (
      flock 9
      [[ -d $template ]] || { make_data "$template.new" "$@" && mv "$template.new" "$template"; }
    ) 9>"$template.lock"
    cp -a "$template" "$state/mariadb.new"
  fi
  mv "$state/mariadb.new" "$state/mariadb"
}

# make_data DIR [OPTION…]
make_data() {
  local made=1 link
  mkdir "$1"
  link=$(mktemp -d /tmp/switchboard-XXXXXX) # mariadb-install-db splits a path at a space
  ln -s "$1" "$link/data"
  shift
  # --force: works even if this machine's host name does not resolve.
  TMPDIR=$link mariadb-install-db --no-defaults "$@" --datadir="$link/data" --skip-test-db --force \
    --auth-root-authentication-method=socket --auth-root-socket-user="$(id -un)" >>"$state/log/mariadb.log" 2>&1 ||
    made=''
  rm -rf "$link"
  [[ -n $made ]] || fail 'cannot make the database' mariadb.log
}

start_database() {
  local as_root=() options tries=0
  read -ra options <<<"${SWITCHBOARD_MARIADB_OPTIONS-}"
  ((EUID != 0)) || as_root=(--user=root) # mariadbd runs as root only with this option
  [[ -d $state/mariadb ]] || make_database "${as_root[@]}"
  # Needs its own --tmpdir: a starting mariadbd deletes the temporary tables of all others in its --tmpdir.
  keep mariadb mariadbd --no-defaults "${as_root[@]}" --datadir="$state/mariadb" --tmpdir="$state/tmp" \
    --socket="$run/mariadb.sock" --skip-networking \
    --character-set-server=utf8mb4 --collation-server=utf8mb4_nopad_bin "${options[@]}"
  client=(--no-defaults --default-character-set=utf8mb4 --socket="$run/mariadb.sock" --user="$(id -un)")
  until [[ -S $run/mariadb.sock ]] && mariadb "${client[@]}" -e 'SELECT 1' >/dev/null 2>&1; do
    ((++tries < 600)) || fail 'MariaDB does not answer' mariadb.log
    sleep 0.1
  done
}

# Applies the schema and makes the four accounts. Passes passwords on stdin, never as arguments.
prepare_database() {
  local name
  mariadb "${client[@]}" \
    -e 'CREATE DATABASE IF NOT EXISTS switchboard CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin'
  "$(dirname "${BASH_SOURCE[0]}")/apply-schema" "${client[@]}" switchboard || fail 'cannot apply schema.sql' mariadb.log
  for name in responder companion relay administrator; do
    mariadb "${client[@]}" <<END || fail "cannot make the database account of the $name" mariadb.log
CREATE USER IF NOT EXISTS switchboard_$name@localhost;
ALTER USER switchboard_$name@localhost IDENTIFIED BY '$(<"$state/secrets/database-$name")';
GRANT switchboard_$name TO switchboard_$name@localhost;
SET DEFAULT ROLE switchboard_$name FOR switchboard_$name@localhost;
END
  done
}

# Writes the options of the client mariadb for an administrator.
write_client_settings() {
  cat >"$state/administrator.cnf" <<END
[client]
socket = "$run/mariadb.sock"
user = switchboard_administrator
password = "$(<"$state/secrets/database-administrator")"
default-character-set = utf8mb4
END
}

# merchant_of NAME: prints the id of the merchant with a valid key and this name; nothing if there is none.
merchant_of() {
  mariadb "${client[@]}" --batch --skip-column-names switchboard \
    -e "SELECT merchant_id FROM keys_of_merchants WHERE name = '$1' AND revoked_at IS NULL"
}
