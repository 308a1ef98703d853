# shellcheck shell=bash disable=SC2034,SC2001 # ${value//} cannot repeat what it found
# Sourced by switchboard and setup, and on a shared host by the responder's CGI program for each request. So it starts
# other programs only if necessary.

declare -gA environment=() # -g: also where a function sources this

# read_environment FILE: adds the variables of the file to `environment`, as EnvironmentFile= of systemd.exec(5) reads
# them. Nothing in the file is executed.
read_environment() {
  local line more name value
  while IFS= read -r line || [[ -n $line ]]; do
    while [[ $line == *\\ ]] && { IFS= read -r more || [[ -n $more ]]; }; do line=${line%\\}$more; done
    [[ $line =~ ^[[:space:]]*([A-Za-z_][A-Za-z0-9_]*)[[:space:]]*=[[:space:]]*(.*)$ ]] || continue
    name=${BASH_REMATCH[1]} value=${BASH_REMATCH[2]}
    if [[ $value =~ ^\'([^\']*)\' ]]; then
      value=${BASH_REMATCH[1]}
    elif [[ $value =~ ^\"(([^\"\\]|\\.)*)\" ]]; then
      value=${BASH_REMATCH[1]}
      [[ $value != *\\* ]] || value=$(sed 's/\\\(["\\`$]\)/\1/g' <<<"$value")
    else
      value=${value%"${value##*[![:space:]]}"}
      [[ $value != *\\* ]] || value=$(sed 's/\\\(.\)/\1/g' <<<"$value")
    fi
    environment[$name]=$value
  done <"$1"
}
