#include "wait.hpp"

#include <algorithm>

namespace det::collectives::node {

using namespace std::chrono_literals;

Cores cores_of(Segment const& segment) {
    cpu_set_t together;
    CPU_ZERO(&together);
    for (int rank = 0; rank < segment.ranks(); ++rank)
        CPU_OR(&together, &together, &segment.member(rank).cores);
    return CPU_COUNT(&together) >= segment.ranks() ? Cores::own : Cores::shared;
}

bool Wait::pause_longer() {
    // About some ms either way: a yield takes longer where others use it.
    constexpr int yields_before_sleep = 20'000;
    constexpr int yields_per_look = 8;
    if (yields_ == 0) watch_.begin();
    if (yields_ < yields_before_sleep) {
        ::sched_yield();
        return ++yields_ % yields_per_look == 0;
    }
    auto const now = std::chrono::steady_clock::now();
    if (yields_ == yields_before_sleep) {
        ++yields_;
        sleeping_since_ = now;
    }
    constexpr int part = 16;
    auto const waited = std::chrono::duration_cast<std::chrono::microseconds>(now - sleeping_since_);
    slot_.sleep(std::clamp<std::chrono::microseconds>(waited / part, 20us, 1ms));
    return true;
}

}  // namespace det::collectives::node
