#include <det/liveness/backoff.hpp>

#include <algorithm>
#include <sched.h>
#include <thread>
#include <unistd.h>

namespace det::liveness {

Cores cores_for(int local_ranks) {
    // Compares with the cores of the node, not with the affinity of this process: a rank that is bound to one
    // core has that core for itself.
    return local_ranks <= ::sysconf(_SC_NPROCESSORS_ONLN) ? Cores::own : Cores::shared;
}

std::optional<std::chrono::microseconds> Backoff::yield_or_sleep_time() {
    using namespace std::chrono_literals;
    using std::chrono::microseconds;
    if (yields_left_ > 0) {
        if (yields_left_ == yields_.polls) sleeping_since_.reset();
        if (--yields_left_ % yields_.polls_per_yield == 0) ::sched_yield();
        return std::nullopt;
    }
    auto const now = std::chrono::steady_clock::now();
    if (!sleeping_since_) sleeping_since_ = now;
    constexpr int part = 16;
    auto const slept = std::chrono::duration_cast<microseconds>(now - *sleeping_since_);
    return std::clamp<microseconds>(slept / part, 20us, 1ms);
}

void Backoff::pause() {
    if (spin()) return;
    if (auto const nap = yield_or_sleep_time()) std::this_thread::sleep_for(*nap);
}

}  // namespace det::liveness
