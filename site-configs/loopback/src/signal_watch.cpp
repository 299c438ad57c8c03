#include "signal_watch.hpp"

#include <unistd.h>

namespace det::loopback {

SignalWatch::SignalWatch(std::initializer_list<int> signals) {
    sigset_t set;
    ::sigemptyset(&set);
    for (int const number : signals) ::sigaddset(&set, number);
    ::pthread_sigmask(SIG_BLOCK, &set, &before_);
    fd_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

SignalWatch::~SignalWatch() {
    // One that is left over would end the process here, in the middle of tidying up.
    while (take()) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<signalfd_siginfo> SignalWatch::take() const {
    signalfd_siginfo info;
    if (::read(fd_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return std::nullopt;
    return info;
}

void restore_default_signals() {
    for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace det::loopback
