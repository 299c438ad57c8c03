#include "wait_for_step.hpp"

#include <det/foundation/polling.hpp>

#include <algorithm>
#include <csignal>
#include <poll.h>

namespace det::launch::supervisor {

bool has_pending_notice() {
    sigset_t pending;
    return ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGTERM) == 1;
}

bool wait_for_step(slurm::StepProcess& step, std::chrono::steady_clock::time_point until,
                   Clock const& clock) {
    constexpr std::chrono::milliseconds interval{200};
    while (!step.poll_exit()) {
        auto const now = clock.steady_now();
        if (now >= until || has_pending_notice()) return false;
        pollfd polled{step.pidfd(), POLLIN, 0};
        ::poll(&polled, 1, poll_timeout_ms(std::min(until, now + interval), now));
    }
    return true;
}

}  // namespace det::launch::supervisor
