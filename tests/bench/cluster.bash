#!/usr/bin/env bash
# Sourced by benchmarks that need a Slurm: call start_cluster NODES [OPTION of cluster up...], then log_in and as_root.
# The cluster is removed when the script ends.
cluster_name=bench-$$
cluster() { "$DET_BUILD_DIR/bin/det-loopback" "$@"; }

stop_cluster() {
  trap '' HUP INT TERM  # a second signal must not interrupt the removal of the cluster
  cluster down --name "$cluster_name" >&2
}

start_cluster() {
  trap stop_cluster EXIT
  cluster up --name "$cluster_name" --nodes "$1" --slots 4 "${@:2}" >&2
}

cluster_dir() { cluster env --name "$cluster_name" | sed -n 's/^export DET_LOOPBACK_DIR=//p'; }

# Runs a shell command as researcher in the home directory. $DET_LOOPBACK_DIR/software is the build tree there.
log_in() { cluster login --name "$cluster_name" -- bash -c "cd && $1" bash "${@:2}"; }
as_root() { cluster login --name "$cluster_name" --user root -- "$@"; }
