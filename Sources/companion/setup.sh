# shellcheck shell=bash
# Sourced by setup, and by the setup of a shared host: answers, settings and keys.

# Both scripts set these: the folder of the settings, the folder of secrets, and a flag to ask nothing.
directory='' secrets='' yes=''

say() { printf '%s\n' "$*"; }
die() { printf 'error: %s\n' "$2" >&2; exit "$1"; }

# ask VARIABLE DEFAULT QUESTION: sets the variable to the administrator's answer or the default,
# unless an option has set it.
ask() {
  local answer=''
  [[ -z ${!1} ]] || return 0
  if [[ -z $yes && -t 0 ]]; then read -r -p "$3 [$2]: " answer; fi
  printf -v "$1" %s "${answer:-$2}"
}

# set_variable NAME VALUE: changes the variable in the environment file, if its value differs.
# "none" stands for no value.
set_variable() {
  local file=$directory/environment value=$2
  [[ $value != none ]] || value=''
  [[ ${environment[$1]-} != "$value" ]] || return 0
  value=${value//\\/\\\\}
  rm -f "$file.new"
  (umask 077 && line="$1=\"${value//\"/\\\"}\"" awk -v name="$1" '
    match($0, "^[ \t]*" name "[ \t]*=") { if (!done) print ENVIRON["line"]; done = 1; next }
    { print }
    END { if (!done) print ENVIRON["line"] }' "$file" >"$file.new")
  chown --reference="$file" "$file.new"
  chmod --reference="$file" "$file.new"
  mv "$file.new" "$file"
}

# main_url: prints the first address of SWITCHBOARD_PUBLIC_URL, or an empty line.
main_url() {
  local urls=${environment[SWITCHBOARD_PUBLIC_URL]-} url
  read -r url <<<"${urls%%,*}" # removes spaces around it
  printf '%s\n' "$url"
}

# set_main_url URL: writes the site's address, unless the administrator has given several.
set_main_url() {
  if [[ ${environment[SWITCHBOARD_PUBLIC_URL]-} != *,* ]]; then
    set_variable SWITCHBOARD_PUBLIC_URL "$1"
  elif [[ $(main_url) != "$1" ]]; then
    say "SWITCHBOARD_PUBLIC_URL has several addresses, so it stays as it is. Its first address should be $1."
  fi
}

# Makes missing keys.
make_keys() {
  local key
  install -d -m 700 "$secrets"
  for key in jwt-keys hmac-keys credential-keys payment-keys companion-keys; do
    [[ ! -s $secrets/$key ]] || continue
    say "Making $secrets/$key. Copy it to a safe place."
    [[ $key != companion-keys ]] || rm -f "$secrets/companion-public-keys"
    switchboard-companion keys add "$secrets/$key" >/dev/null
  done
  [[ -s $secrets/companion-public-keys ]] || (
    umask 077
    switchboard-companion keys public "$secrets/companion-keys" >"$secrets/companion-public-keys.new"
    mv "$secrets/companion-public-keys.new" "$secrets/companion-public-keys"
  )
  [[ -s $secrets/vapid-key && -s $secrets/vapid-public-key ]] || (
    umask 077
    [[ -s $secrets/vapid-key ]] || say "Making $secrets/vapid-key. Copy it to a safe place."
    switchboard-companion keys vapid "$secrets/vapid-key" >"$secrets/vapid-public-key.new"
    mv "$secrets/vapid-public-key.new" "$secrets/vapid-public-key"
  )
}
