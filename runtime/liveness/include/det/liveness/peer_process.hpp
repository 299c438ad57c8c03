#pragma once
#include <det/foundation/files.hpp>

#include <cstdint>
#include <sys/types.h>

namespace det::liveness {

/// Returns the process id namespace of this process, or zero if it is not known. Process ids are comparable
/// only between processes of the same namespace.
std::uint64_t own_pid_namespace();

/// Another process of this machine, observed by open_pidfd(). A pidfd reports also a zombie as ended.
class PeerProcess {
public:
    /// If the process can't be observed (it is in another namespace, or was reaped already), has_ended()
    /// always returns false, and only the heartbeat shows that the process has ended.
    /// \param pid_namespace the own_pid_namespace() of that process
    PeerProcess(pid_t pid, std::uint64_t pid_namespace);

    /// Does not block; makes one system call.
    bool has_ended() const;

private:
    UniqueFd fd_;
};

}  // namespace det::liveness
