#include <det/tracker/history/history.hpp>

namespace det::tracker::history {

std::optional<slurm::JobRef> ExperimentRecord::task_of(std::uint32_t trial) const {
    if (is_packed()) return trial < trials.size() ? trials[trial].claimed_by : std::nullopt;
    auto const array = find_array_of(arrays(), trial);
    return array ? std::optional(slurm::JobRef{array->job, array->task_of(trial)}) : std::nullopt;
}

}  // namespace det::tracker::history
