#pragma once
#include <csignal>
#include <sys/types.h>

namespace det::launch::wrap_rank {

/// Everything that may be sent to a command, and SIGCHLD; not what only a process's own mistakes raise.
sigset_t relayed_signals();

/// Whether that process is one of those that started us, up to the slurmstepd of the task.
bool started_us(pid_t process);

/// Whether we read from a terminal whose keys (Ctrl-C) reach our process group.
bool is_in_foreground();

}  // namespace det::launch::wrap_rank
