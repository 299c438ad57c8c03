#include <det/transport/backoff.hpp>

#include <algorithm>
#include <sched.h>
#include <thread>
#include <unistd.h>

namespace det::transport {

Cores cores_for(int local_ranks) {
    // Not the affinity of this process: a rank that is bound to one core has it for itself.
    return local_ranks <= ::sysconf(_SC_NPROCESSORS_ONLN) ? Cores::own : Cores::shared;
}

void Backoff::pause() {
    using namespace std::chrono_literals;
    if (spins_left_ > 0) {
        --spins_left_;
        return;
    }
    if (polite_polls_left_ > 0) {
        if (--polite_polls_left_ % polls_per_yield == 0) ::sched_yield();
        return;
    }
    auto const now = std::chrono::steady_clock::now();
    if (!sleeping_since_) sleeping_since_ = now;
    constexpr int part = 16;
    auto const nap = std::clamp<std::chrono::nanoseconds>((now - *sleeping_since_) / part, 20us, 1ms);
    std::this_thread::sleep_for(nap);
}

}  // namespace det::transport
