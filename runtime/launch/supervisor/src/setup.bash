#!/usr/bin/env bash
# Runs the lines of slurm.setup and then becomes the command in its arguments. It is sourced by
#     bash -c '. "$DET_RUN_DIR/setup/run"' setup CMD...
# before the entrypoint of every task. The first task of a node runs the lines; it saves what they changed: exported
# variables and functions, the working directory, umask and soft limits. The other tasks of the node load these
# changes. A line that fails is described in setup/failed, where det-wrap-rank finds it.
# Our names begin with __det_, because the lines of the user run in this shell too.
__det_command=("$@")
__det_directory=$DET_RUN_DIR/setup
set --  # scripts that a line sources would take the arguments for their own

# Saves this shell's state, for comparison.
__det_remember() {
  declare -gA __det_variables=()
  local name
  while IFS= read -r name; do __det_variables[$name]=${!name}; done < <(compgen -e)
  __det_functions=$(export -pf)
  __det_umask=$(umask)
  __det_limits=$(ulimit -S -a)
  __det_pwd=$PWD
  # The last directory of PYTHONPATH is that of the package `determined`.
  __det_python=${PYTHONPATH:-}
  __det_python=${__det_python##*:}
  # With slurm.log_wandb the first directory has det-submit's module wandb.
  __det_wandb=
  [[ -z ${DET_LOG_WANDB:-} ]] || __det_wandb=${PYTHONPATH%%:*}
}

__det_keep_python() {
  if [[ -n $__det_python && :${PYTHONPATH:-}: != *:"$__det_python":* ]]; then
    export PYTHONPATH=${PYTHONPATH:+$PYTHONPATH:}$__det_python
  fi
  if [[ -n $__det_wandb && ${PYTHONPATH:-}: != "$__det_wandb":* ]]; then
    export PYTHONPATH=$__det_wandb${PYTHONPATH:+:$PYTHONPATH}
  fi
}

# Prints commands that make the same changes in another task's shell.
__det_print_changes() {
  local name letter seen=:
  while IFS= read -r name; do
    seen+=$name:
    case $name in _ | SHLVL | PWD | OLDPWD | BASHOPTS | SHELLOPTS) continue ;; esac
    [[ -n ${__det_variables[$name]+set} && ${__det_variables[$name]} == "${!name}" ]] && continue
    printf 'export %s=%q\n' "$name" "${!name}"
  done < <(compgen -e)
  for name in "${!__det_variables[@]}"; do
    case $name in _ | SHLVL | PWD | OLDPWD | BASHOPTS | SHELLOPTS) continue ;; esac
    [[ $seen == *:"$name":* ]] || printf 'unset -v %s\n' "$name"
  done
  [[ $(export -pf) == "$__det_functions" ]] || export -pf
  [[ $(umask) == "$__det_umask" ]] || printf 'umask %s\n' "$(umask)"
  if [[ $(ulimit -S -a) != "$__det_limits" ]]; then
    for letter in c d f l m n s t u v; do
      printf 'ulimit -S -%s %s\n' "$letter" "$(ulimit -S -$letter)"
    done
  fi
  [[ $PWD == "$__det_pwd" ]] || printf 'cd -- %q\n' "$PWD"
}

# Describes the failure of the current line and ends the task.
__det_fail() {
  trap - EXIT
  local status=$1 text
  text="line $__det_number of slurm.setup failed with exit code $status: ${__det_line//$'\n'/ }"
  printf '%s\n' "$text" >|"$__det_directory/failed.new"
  command mv -f "$__det_directory/failed.new" "$__det_directory/failed"
  printf 'det-submit: %s\n' "$text" >&2
  exit $((status == 0 ? 1 : status))
}

if command mkdir "$__det_directory/started" 2>/dev/null; then
  __det_lines=()
  while IFS= read -r -d '' __det_line; do __det_lines+=("$__det_line"); done <"$__det_directory/lines"
  __det_remember
  __det_number=0
  trap '__det_fail $?' EXIT  # a line that ends the shell: exit, set -e
  # Not in a function, where `declare` would make local variables.
  for __det_line in "${__det_lines[@]}"; do
    __det_number=$((__det_number + 1))
    eval "$__det_line"
    __det_status=$?
    if [[ $__det_status != 0 ]]; then __det_fail "$__det_status"; fi
  done
  trap - EXIT
  __det_keep_python
  __det_print_changes >|"$__det_directory/changes.new"
  command mv -f "$__det_directory/changes.new" "$__det_directory/changes"
else
  # If the first task is killed, srun ends this task too.
  until [[ -e $__det_directory/changes ]]; do
    if [[ -e $__det_directory/failed ]]; then exit 1; fi
    command sleep 0.1 2>/dev/null || command sleep 1
  done
  # shellcheck source=/dev/null
  . "$__det_directory/changes"
fi
exec "${__det_command[@]}"
