#pragma once
#include <csignal>
#include <sys/types.h>

namespace det::launch::wrap_rank {

/// All signals that may be forwarded to a command, and SIGCHLD; without signals of a process's own faults,
/// for example SIGSEGV.
sigset_t relayed_signals();

/// Whether the process is an ancestor of this one, below the task's slurmstepd.
bool is_ancestor(pid_t process);

/// Whether the group of this process is in the foreground of a terminal, so that Ctrl-C reaches the group.
bool is_in_foreground();

}  // namespace det::launch::wrap_rank
