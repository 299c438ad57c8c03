#include "notices.hpp"

#include <cerrno>
#include <csignal>
#include <sys/signalfd.h>
#include <unistd.h>

namespace det::launch::supervisor {

Result<Notices> Notices::open() {
    sigset_t set;
    ::sigemptyset(&set);
    for (int const number : {SIGTERM, SIGUSR2}) ::sigaddset(&set, number);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd) return os_error("watch for signals", errno);
    return Notices(std::move(fd));
}

Notices::Heard Notices::take() {
    Heard heard;
    signalfd_siginfo info{};
    while (::read(fd_.get(), &info, sizeof info) == sizeof info) {
        (info.ssi_signo == SIGTERM ? heard.notice : heard.poke) = true;
    }
    return heard;
}

}  // namespace det::launch::supervisor
