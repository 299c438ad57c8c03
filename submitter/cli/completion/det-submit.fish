# det-submit completion for fish: det-submit completion fish | source
function __det_submit_complete
  set -l words (commandline --tokenize --cut-at-cursor --current-process)
  set -l last (commandline --current-token --cut-at-cursor)
  set -l found ($words[1] completion fish --complete -- $words[2..-1] "$last" 2>/dev/null)
  if test (count $found) -gt 0
    string join \n -- $found
  else
    __fish_complete_path "$last"
  end
end
for program in det-submit det
  complete --command $program --no-files --keep-order --arguments '(__det_submit_complete)'
end
