#pragma once
#include <det/foundation/files.hpp>

#include <cstdint>
#include <sys/types.h>

namespace det::liveness {

/// The process id namespace of this process, or zero if it is not known. Process ids are comparable only
/// between processes of the same namespace.
std::uint64_t own_pid_namespace();

/// Another process of this machine, observed by a pidfd, which reports zombies as ended too.
class PeerProcess {
public:
    /// Without a pidfd (old kernels, a process of another namespace) the process never counts as ended; its
    /// heartbeat stops.
    PeerProcess(pid_t pid, std::uint64_t pid_namespace);

    /// Does not block: one system call.
    bool has_ended() const;

private:
    UniqueFd fd_;
};

}  // namespace det::liveness
