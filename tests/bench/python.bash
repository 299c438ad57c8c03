# Sourced by the benchmarks of the Python package. `measure_in_run NAME` runs benchmark NAME of python_rows.py as in a run of an
# experiment, on this machine.
python=/usr/bin/python3  # Debian's packages of torch and mpi4py are for this Python
work=$(mktemp -d "${TMPDIR:-/tmp}/det-bench-python.XXXXXX")
trap 'rm -rf "$work"' EXIT
export PYTHONPATH=$DET_BUILD_DIR/lib/det-submit/python-path

# Compiles the modules, as an installation does.
"$python" -m compileall -q "$DET_BUILD_DIR/lib/det-submit" >&2

measure_in_run() {
  "$DET_BUILD_DIR/tests/test_run" make "$work" '{"searcher": {"metric": "loss"}}'
  DET_RUN_DIR=$work/node DET_RUN_PATH=$work/trials/0/runs/0 "$python" tests/bench/python_rows.py "$1" "$work"
}
