# shellcheck shell=bash
# Sourced by Tests/run: the search for secrets in what the tests' programs stored and logged.

# contain FOLDER NAME PATTERNS OPTION: true if the folder's files NAME.sql and NAME.log contain a line of the file PATTERNS.
# Shows them, as the option of grep says. Either kind of file may be absent.
contain() {
  local status=0
  grep --recursive "$4" --fixed-strings --file="$3" --include="$2.sql" --include="$2.log" "$1" || status=$?
  ((status < 2)) || die "$1 cannot be searched"
  return $status
}

# search_evidence FOLDER [ARGUMENT…]: searches everything that the tests' programs stored and logged for every secret that
# they issued. The arguments are those that selected the tests.
search_evidence() {
  local codes name folder=$1
  shift
  [[ -s $folder/secrets ]] || { (($#)) && return; die 'No test kept a secret'; } # selected tests may issue none
  if contain "$folder" '*' "$folder/secrets" --files-with-matches; then die 'These files contain secrets in the clear'; fi
  for codes in "$folder"/*.codes; do
    [[ -e $codes ]] || continue
    name=$(basename "$codes" .codes)
    if contain "$folder" "$name" "$codes" --word-regexp; then die "$folder/$name contains codes in the clear"; fi
  done
}
