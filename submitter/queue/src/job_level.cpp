#include <det/queue/job_level.hpp>

#include <cmath>

namespace det::queue {
namespace {

/// \return The level whose nice is nearest to `nice`; of two that are equally near, the one nearer to the
/// default level.
int level_of_nice(std::int64_t nice) {
    int best = default_level;
    for (int level = most_urgent_level; level <= least_urgent_level; ++level) {
        auto const distance = std::abs(nice_of_level(level) - nice);
        auto const best_distance = std::abs(nice_of_level(best) - nice);
        bool const is_nearer =
            distance < best_distance ||
            (distance == best_distance && std::abs(level - default_level) < std::abs(best - default_level));
        if (is_nearer) best = level;
    }
    return best;
}

}  // namespace

int level_of(slurm::JobStatus const& job, PriorityKind kind) {
    for (int level = most_urgent_level; level <= least_urgent_level; ++level) {
        bool const may_be_set =
            level < default_level || (level > default_level && kind == PriorityKind::basic);
        if (may_be_set && job.priority == priority_of_level(level)) return level;
    }
    return level_of_nice(job.nice);
}

}  // namespace det::queue
