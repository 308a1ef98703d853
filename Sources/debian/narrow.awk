# Converts Markdown for a terminal of 80 columns: turns tables into lists, and breaks long commands into several lines.

function item(line,   cell, count, i, text) {
  gsub(/\\\|/, "\001", line)
  sub(/^\| */, "", line)
  sub(/ *\|$/, "", line)
  count = split(line, cell, / *\| */)
  if (!rows++) { for (i = 1; i <= count; i++) head[i] = cell[i]; return }
  if (rows == 2) return # the rule below the head
  text = "\n- " cell[1]
  for (i = 2; i <= count; i++)
    if (cell[i] != "") text = text "  \n  " (head[i] == "" ? "" : "*" head[i] "*: ") cell[i]
  gsub("\001", "|", text)
  print text
}

# Returns the last space up to `limit` where `line` may break, or else the first space. Skips spaces in a shell's quotes.
function space(line, limit,   i, sign, quote, last) {
  for (i = 1; i <= length(line); i++) {
    sign = substr(line, i, 1)
    if (language == "sh" && quote == "" && (sign == "'" || sign == "\"")) quote = sign
    else if (sign == quote) quote = ""
    else if (sign == " " && quote == "" && substr(line, 1, i) !~ /^ *$/) {
      if (i > limit) return last ? last : i
      last = i
    }
  }
  return last
}

function command(line,   at) {
  if (language == "sh" && length(line) > 72 && match(line, / +# /)) {
    print "#" substr(line, RSTART + RLENGTH - 1)
    line = substr(line, 1, RSTART - 1)
  }
  while (length(line) > 72 && (at = space(line, 70))) {
    print substr(line, 1, at - 1) (language == "sh" && line !~ /^#/ ? " \\" : "")
    line = (language == "sh" && line ~ /^#/ ? "# " : "    ") substr(line, at + 1)
  }
  print line
}

/^ *```/ { isOpen = !isOpen; language = substr($0, index($0, "```") + 3); print; next }
isOpen { command($0); next }
/^\|/ { item($0); next }
{ if (rows) print ""; rows = 0; print }
