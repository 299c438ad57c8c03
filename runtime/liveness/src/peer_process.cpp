#include <det/foundation/spawn.hpp>
#include <det/liveness/peer_process.hpp>

#include <poll.h>
#include <sys/stat.h>

namespace det::liveness {

std::uint64_t own_pid_namespace() {
    struct stat info {};
    return ::stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

PeerProcess::PeerProcess(pid_t pid, std::uint64_t pid_namespace) {
    auto const own = own_pid_namespace();
    if (own != 0 && pid_namespace == own) fd_ = open_pidfd(pid);
}

bool PeerProcess::has_ended() const {
    if (!fd_) return false;
    pollfd query{fd_.get(), POLLIN, 0};
    return ::poll(&query, 1, 0) == 1;
}

}  // namespace det::liveness
