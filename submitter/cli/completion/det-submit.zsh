#compdef det-submit det
# det-submit completion for zsh: eval "$(det-submit completion zsh)" after compinit
_det_submit() {
  local -a candidates
  candidates=("${(@f)$("$words[1]" completion zsh --complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n ${candidates[1]} ]]; then
    # A key is followed by its value or by the next part of its path.
    if [[ ${candidates[1]%%:*} == *[=.] ]]; then
      _describe -V 'det-submit' candidates -S ''
    else
      _describe -V 'det-submit' candidates
    fi
  else
    _files
  fi
}
compdef _det_submit det-submit det
# As a file of the function path the script is the function _det-submit itself.
if [[ ${funcstack[1]:-} == _det-submit ]]; then _det_submit; fi
