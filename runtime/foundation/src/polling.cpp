#include <det/foundation/polling.hpp>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <unistd.h>

namespace det {

int poll_timeout_ms(std::optional<std::chrono::steady_clock::time_point> deadline,
                    std::chrono::steady_clock::time_point now) {
    if (!deadline) return -1;
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - now);
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, std::numeric_limits<int>::max()));
}

sigset_t signal_set(std::initializer_list<int> signals) {
    sigset_t set;
    ::sigemptyset(&set);
    for (int const number : signals) ::sigaddset(&set, number);
    return set;
}

Result<SignalReader> SignalReader::open(sigset_t const& signals, AtEnd at_end) {
    sigset_t before;
    ::pthread_sigmask(SIG_BLOCK, &signals, &before);
    UniqueFd fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd) {
        auto error = os_error("watch for signals", errno);
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return error;
    }
    return SignalReader(std::move(fd), before, at_end);
}

SignalReader::~SignalReader() {
    if (!fd_ || at_end_ == AtEnd::stay_blocked) return;
    while (take()) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<signalfd_siginfo> SignalReader::take() const {
    signalfd_siginfo info;
    if (::read(fd_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return std::nullopt;
    return info;
}

}  // namespace det
