# Makes a manual page of section 1 (roff) from the Markdown page of a command:
#   awk -v version=0.1.0 -v date=2026-11-25 -v program=det-submit -v name=det-submit-dump -f man_page.awk dump.md
# Supports the Markdown of these pages: headings, paragraphs, lists, code blocks, tables, `code`, **bold**, links.

function flush_paragraph() {
  if (paragraph != "") print spans(paragraph)
  paragraph = ""
}

# roff would read a point or an apostrophe at the beginning of a line as a request.
function protect(line) {
  if (line ~ /^[.']/) line = "\\&" line
  return line
}

function escape(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  return text
}

# Fonts of `code`, **bold** and the text of [text](target).
function spans(text,    out, at, word) {
  out = ""
  text = escape(text)
  while (match(text, /`[^`]+`|\*\*[^*]+\*\*|\[[^]]+\]\([^)]*\)/)) {
    word = substr(text, RSTART, RLENGTH)
    out = out substr(text, 1, RSTART - 1)
    text = substr(text, RSTART + RLENGTH)
    if (word ~ /^`/) word = "\\fB" substr(word, 2, length(word) - 2) "\\fR"
    else if (word ~ /^\*/) word = "\\fB" substr(word, 3, length(word) - 4) "\\fR"
    else { at = index(word, "]"); word = substr(word, 2, at - 2) }
    out = out word
  }
  return protect(out text)
}

function end_block() {
  flush_paragraph()
  if (in_code) { print ".EE\n.RE"; in_code = 0 }
  if (in_synopsis == 2) { print ".SH DESCRIPTION"; in_synopsis = 0; fresh = 1 }
}

function end_all() {
  end_block()
  in_table = in_list = 0
}

function cell(text) {
  sub(/^ +/, "", text)
  sub(/ +$/, "", text)
  return text
}

function start_page(    summary) {
  print ".\\\" Made from " page "."
  print ".TH " toupper(name) " 1 \"" date "\" \"det-submit " version "\" \"det-submit\""
  print ".SH NAME"
}

BEGIN { title_line = 1; wants_summary = 1 }

# "# det-launch mpi: ranks by Open MPI": the summary is in the title, and the usage comes first.
/^# / && title_line && match($0, /: /) {
  page = FILENAME; sub(/^.*\//, "", page); start_page(); title_line = 0
  print escape(name) " \\- " escape(substr($0, RSTART + 2))
  print ".SH SYNOPSIS"
  wants_summary = 0; in_synopsis = fresh = 1
  next
}
/^# / && title_line { page = FILENAME; sub(/^.*\//, "", page); start_page(); title_line = 0; next }

# The first paragraph: its first sentence is the summary of NAME, and the whole paragraph begins DESCRIPTION.
wants_summary == 1 && /^$/ { if (first == "") next; print_summary(); next }
wants_summary == 1 { first = first (first == "" ? "" : " ") $0; next }

function print_summary(    sentence, end) {
  sentence = first
  if (match(sentence, /[.:](  *[A-Z`]|$)/)) sentence = substr(sentence, 1, RSTART - 1)
  gsub(/[`*]/, "", sentence)
  print escape(name) " \\- " escape(tolower(substr(sentence, 1, 1)) substr(sentence, 2))
  print ".SH DESCRIPTION"
  print spans(first)
  wants_summary = 0
}

/^## / { end_all(); heading = toupper(substr($0, 4)); print ".SH \"" escape(heading == "USAGE" ? "SYNOPSIS" : heading) "\""; fresh = 1; next }
/^### / { end_all(); print ".SS \"" escape(substr($0, 5)) "\""; fresh = 1; next }
/^```/ { if (fenced) { end_block(); fenced = 0; fresh = 0 } else { end_all(); print_code_start(); fenced = 1 } next }
fenced { print protect(escape($0)); next }

function print_code_start() {
  if (!in_code) { print (fresh ? "" : ".PP\n") ".RS 4\n.EX"; in_code = 1 }
  if (in_synopsis == 1) in_synopsis = 2
  fresh = 0
}

/^    / && !in_list { flush_paragraph(); print_code_start(); print protect(escape(substr($0, 5))); next }
/^$/ { if (in_code) { held_blank = 1 } else { flush_paragraph(); wants_break = 1; in_table = in_list = 0 } next }

{ if (in_code) { end_block(); wants_break = 1 } }

/^\|[-| ]*\|$/ && (/---/ || /^\| *\| *\|$/) { flush_paragraph(); next }
/^\|/ {
  flush_paragraph()
  row = $0
  sub(/^\| */, "", row)
  sub(/ *\|$/, "", row)
  cells = split(row, column, / +\| +/)
  print ".TP\n" (column[1] == "" ? "\\&" : bold(cell(column[1])))
  text = ""
  for (i = 2; i <= cells; ++i) text = text (i > 2 ? "; " : "") cell(column[i])
  print (text == "" ? "\\&" : spans(text))
  in_table = 1; wants_break = 1; fresh = 0
  next
}

function bold(text) { return spans(text ~ /[`*]/ ? text : "**" text "**") }

/^- / { flush_paragraph(); print ".IP \\(bu 2"; paragraph = substr($0, 3); in_list = 1; wants_break = 0; fresh = 0; next }

{
  line = $0
  sub(/^ +/, "", line)
  if (paragraph == "" && wants_break && !fresh && !in_list) print ".PP"
  wants_break = 0
  fresh = 0
  paragraph = paragraph (paragraph == "" ? "" : " ") line
}

END {
  if (wants_summary && first != "") print_summary()
  end_all()
  if (name ~ /-/ && name != program) print ".SH \"SEE ALSO\"\n.BR " escape(program) " (1)"
}
