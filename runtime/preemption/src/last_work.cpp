#include <det/preemption/last_work.hpp>

namespace det::preemption {

LastWork choose_last_work(std::optional<std::chrono::microseconds> left,
                          std::optional<std::chrono::microseconds> cost) {
    if (!left || !cost) return LastWork::save_anew;
    // Disks are slower when all jobs of a site have to save at once.
    auto const needed = *cost + *cost / 2;
    return *left >= needed ? LastWork::save_anew : LastWork::keep_last_saved;
}

}  // namespace det::preemption
