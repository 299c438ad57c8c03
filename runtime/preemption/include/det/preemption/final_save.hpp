#pragma once
#include <chrono>
#include <cstdint>
#include <optional>

namespace det::preemption {

/// What a run that is preempted does with the work since its last checkpoint.
enum class FinalSave : std::uint8_t {
    save_new,         // saves a checkpoint: no work is lost
    keep_last_saved,  // too little time is left: only commits checkpoints that are already being written
};

/// Chooses save_new if at least 1.5 times the cost of a checkpoint is left. Pure.
/// \param left time until the nodes are taken away; none: unknown, and the run saves.
/// \param cost of the last checkpoint, from its snapshot to its commit; none: unknown, and the run saves.
FinalSave choose_final_save(std::optional<std::chrono::microseconds> left,
                            std::optional<std::chrono::microseconds> cost);

}  // namespace det::preemption
