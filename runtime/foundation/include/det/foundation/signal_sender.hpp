#pragma once
#include <sys/types.h>

namespace det {

/// Whether Slurm has sent a signal, and no program of the job. Slurm sends signals from slurmstepd, as root
/// or, if Slurm runs as an ordinary user, as that user. Async-signal-safe.
/// \param sender,sender_user of siginfo_t or signalfd_siginfo. The process is 0 if it is outside of the PID
///     namespace (container) of this process.
bool is_sent_by_slurm(pid_t sender, uid_t sender_user) noexcept;

}  // namespace det
