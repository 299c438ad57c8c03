#include "notices.hpp"

#include <cerrno>
#include <csignal>
#include <sys/signalfd.h>
#include <unistd.h>

namespace det::supervisor {

Result<Notices> Notices::open() {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd) return os_error("watch for signals", errno);
    return Notices(std::move(fd));
}

bool Notices::take() {
    signalfd_siginfo info{};
    bool any = false;
    while (::read(fd_.get(), &info, sizeof info) == sizeof info) any = true;
    return any;
}

}  // namespace det::supervisor
