#pragma once
#include <csignal>

namespace det::launch::supervisor {

/// The signals that Slurm may send to a batch script, by `--signal` or scancel: all that a process can
/// handle, except for those of its own faults, its children, its terminal and its suspension. URG is for the
/// supervisor.
sigset_t script_signals();

}  // namespace det::launch::supervisor
