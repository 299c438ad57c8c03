#include <det/queue/order.hpp>
#include <det/queue/start_estimate.hpp>

#include <algorithm>

namespace det::queue {
namespace {

constexpr std::int64_t day_us = std::int64_t{24} * 3600 * 1'000'000;
constexpr std::int64_t assumed_duration_us = 365 * day_us;

}  // namespace

StartEstimates::StartEstimates(std::vector<slurm::JobStatus> const& queue, UtcTime now)
    // Waiting jobs without a time limit start now at the earliest. The queue need not show whether a waiting
    // job has a time limit, nor the jobs of other users.
    : first_assumed_end_{now.microseconds + assumed_duration_us} {
    for (auto const& job : queue) {
        if (!has_nodes(job) || job.end_time || job.preempt_time || !job.start_time) continue;
        auto const end_us = job.start_time->microseconds + assumed_duration_us;
        first_assumed_end_.microseconds = std::min(first_assumed_end_.microseconds, end_us);
    }
    first_assumed_end_.microseconds -= day_us;  // an estimate may be rounded down
}

StartEstimate StartEstimates::evaluate(std::optional<UtcTime> slurms_estimate) const {
    bool const is_known = !slurms_estimate || slurms_estimate->microseconds < first_assumed_end_.microseconds;
    if (is_known) return {slurms_estimate, ""};
    return {std::nullopt, "jobs before it have no time limit"};
}

}  // namespace det::queue
