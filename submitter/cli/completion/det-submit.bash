# shellcheck shell=bash
# det-submit completion for bash: eval "$(det-submit completion bash)"
# The shell completes file names itself if there are no candidates.
_det_submit() {
  mapfile -t COMPREPLY < <("$1" completion bash --complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  # A key is followed by its value or by the next part of its path.
  if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=.] ]]; then compopt -o nospace; fi
}
complete -o default -o bashdefault -o nosort -F _det_submit det-submit det
