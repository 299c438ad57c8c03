#include "wait_for_step.hpp"

#include <det/foundation/polling.hpp>

#include <algorithm>
#include <csignal>
#include <poll.h>

namespace det::launch::supervisor {
namespace {

bool is_pending_here(int signal) {
    sigset_t pending;
    return ::sigpending(&pending) == 0 && ::sigismember(&pending, signal) == 1;
}

}  // namespace

bool has_pending_notice() { return is_pending_here(SIGTERM); }

bool DesiredStateTimes::take(bool is_woken, Time now) {
    constexpr std::chrono::seconds with_signal{1}, without_signal{30};
    if (last_ && now - *last_ < (is_woken ? with_signal : without_signal)) return false;
    last_ = now;
    return true;
}

bool wait_for_step(slurm::StepProcess& step, std::chrono::steady_clock::time_point until, Clock const& clock,
                   std::function<bool()> const& is_stopped) {
    constexpr std::chrono::milliseconds interval{200};
    DesiredStateTimes times;
    while (!step.poll_exit()) {
        auto const now = clock.steady_now();
        if (now >= until || has_pending_notice()) return false;
        if (is_stopped && times.take(is_pending_here(SIGURG), now) && is_stopped()) return false;
        pollfd polled{step.pidfd(), POLLIN, 0};
        ::poll(&polled, 1, poll_timeout_ms(std::min(until, now + interval), now));
    }
    return true;
}

}  // namespace det::launch::supervisor
