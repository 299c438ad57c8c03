#pragma once
#include <det/queue/moves.hpp>

#include <optional>
#include <vector>

namespace det::queue {

/// A waiting job, or the waiting tasks of an array, which move together.
struct WaitingJob {
    std::uint32_t job = 0;
    std::string user, partition, account, qos;
    int tier = 1;
    std::int64_t nice = 0;
    // The highest and lowest priority of the tasks. They differ if the priority of a single task was changed.
    std::int64_t priority = 0;
    std::int64_t lowest_priority = 0;
    bool may_change = false;  // whether the caller may change the job

    /// \return The priority that the job would have with nice 0.
    std::int64_t base() const { return priority + nice; }
};

/// \return The waiting job of that number. The Error says why the job cannot be moved: it is not in the
/// queue, does not wait, or is held.
Result<WaitingJob> require_waiting_job(QueueState const& queue, Caller const& caller, std::uint32_t job);

/// \return All waiting jobs that are not held, in scheduling order, one entry for each job array.
std::vector<WaitingJob> waiting_jobs(QueueState const& queue, Caller const& caller);

/// \return True if Slurm considers job `a` before `b`, given these priorities.
inline bool is_before(std::int64_t priority_a, std::uint32_t a, std::int64_t priority_b, std::uint32_t b) {
    return priority_a != priority_b ? priority_a > priority_b : a < b;
}

}  // namespace det::queue
