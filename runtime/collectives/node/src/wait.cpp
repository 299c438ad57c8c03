#include "wait.hpp"

#include <sched.h>

namespace det::collectives::node {

Cores cores_of(Segment const& segment) {
    cpu_set_t together;
    CPU_ZERO(&together);
    for (int rank = 0; rank < segment.ranks(); ++rank)
        CPU_OR(&together, &together, &segment.member(rank).cores);
    return CPU_COUNT(&together) >= segment.ranks() ? Cores::own : Cores::shared;
}

bool Wait::pause_longer() {
    constexpr int yields_per_check = 8;
    if (backoff_.yields() == 0) watch_.begin();
    auto const nap = backoff_.yield_or_sleep();
    if (!nap) return backoff_.yields() % yields_per_check == 0;
    slot_.sleep(*nap);
    return true;
}

}  // namespace det::collectives::node
