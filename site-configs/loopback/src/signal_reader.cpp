#include "signal_reader.hpp"

#include <unistd.h>

namespace det::loopback {

SignalReader::SignalReader(std::initializer_list<int> signals) {
    sigset_t set;
    ::sigemptyset(&set);
    for (int const number : signals) ::sigaddset(&set, number);
    ::pthread_sigmask(SIG_BLOCK, &set, &before_);
    fd_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

SignalReader::~SignalReader() {
    // A signal that is still pending would end the process as soon as it is unblocked.
    while (take()) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<signalfd_siginfo> SignalReader::take() const {
    signalfd_siginfo info;
    if (::read(fd_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return std::nullopt;
    return info;
}

}  // namespace det::loopback
