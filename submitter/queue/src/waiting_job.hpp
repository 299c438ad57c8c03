#pragma once
#include <det/queue/moves.hpp>

#include <optional>
#include <vector>

namespace det::queue {

/// What moves as one: a job, or the tasks of an array that wait.
struct WaitingJob {
    std::uint32_t job = 0;
    std::string user, partition, account, qos;
    int tier = 1;
    std::int64_t nice = 0;
    // Of the task that comes first, and of the one that comes last: single tasks may have been changed.
    std::int64_t priority = 0;
    std::int64_t lowest_priority = 0;
    bool may_change = false;  // by the caller

    /// Its priority where its nice were 0.
    std::int64_t base() const { return priority + nice; }
};

/// The unit that a number means; the Error says why it is none that can be moved: it runs, is held, is over.
Result<WaitingJob> require_waiting_job(QueueState const& queue, Caller const& caller, std::uint32_t job);

/// All that wait and are not held, in scheduling order.
std::vector<WaitingJob> waiting_jobs(QueueState const& queue, Caller const& caller);

/// Whether `a` is looked at before `b`: where both have these priorities.
inline bool is_before(std::int64_t priority_a, std::uint32_t a, std::int64_t priority_b, std::uint32_t b) {
    return priority_a != priority_b ? priority_a > priority_b : a < b;
}

}  // namespace det::queue
