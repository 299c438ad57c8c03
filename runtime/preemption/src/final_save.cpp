#include <det/preemption/final_save.hpp>

namespace det::preemption {

FinalSave choose_final_save(std::optional<std::chrono::microseconds> left,
                            std::optional<std::chrono::microseconds> cost) {
    if (!left || !cost) return FinalSave::save_new;
    // Storage is slower when all preempted jobs of a site save at the same time.
    auto const needed = *cost + *cost / 2;
    return *left >= needed ? FinalSave::save_new : FinalSave::keep_last_saved;
}

}  // namespace det::preemption
