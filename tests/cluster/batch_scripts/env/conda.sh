# shellcheck shell=bash
# Stands for conda: `eval "$(conda shell.bash hook)"` defines a function, `conda activate NAME` enters an environment.
case "$1 ${2-}" in
    "shell.bash hook") printf 'conda() { source %q/conda.sh "$@"; }\n' "$CONDA_ROOT" ;;
    "activate "*)
        export CONDA_DEFAULT_ENV=$2 PATH="$CONDA_ROOT/bin:$PATH"
        # As conda's own scripts, this reads a variable that is not set.
        export CONDA_PREFIX_1=$CONDA_PREFIX CONDA_PREFIX=$CONDA_ROOT
        ;;
    *) echo "conda: no command $1" >&2; return 1 ;;
esac
