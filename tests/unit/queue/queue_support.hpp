#pragma once
#include <det/queue/moves.hpp>

#include <string>
#include <vector>

namespace det::queue {

inline slurm::JobStatus waiting(std::uint32_t number, std::int64_t priority, std::int64_t nice = 0,
                                std::string user = "me") {
    slurm::JobStatus job;
    job.ref = {number, {}};
    job.state = slurm::JobState::pending;
    job.state_text = "PENDING";
    job.reason = "Priority";
    job.priority = priority;
    job.nice = nice;
    job.user = std::move(user);
    job.partition = "compute";
    job.name = "job";
    return job;
}

inline slurm::JobStatus running(std::uint32_t number, std::string user = "me") {
    auto job = waiting(number, 10, 0, std::move(user));
    job.state = slurm::JobState::running;
    job.state_text = "RUNNING";
    return job;
}

/// "3 1 2": the numbers of the jobs in the order in which Slurm starts them.
inline std::string order_of(QueueState const& queue) {
    std::string text;
    for (auto const& job : in_scheduling_order(queue.jobs, queue.tiers))
        text += (text.empty() ? "" : " ") + to_string(job.ref);
    return text;
}

/// "nice 3: 100 -> 42".
inline std::string text_of(Move const& move) {
    if (auto const* nice = std::get_if<ChangeNice>(&move))
        return "nice " + std::to_string(nice->job) + ": " + std::to_string(nice->from) + " -> " +
               std::to_string(nice->to);
    if (auto const* priority = std::get_if<ChangePriority>(&move))
        return "priority " + std::to_string(priority->job) + ": " + std::to_string(priority->priority);
    if (auto const* computed = std::get_if<ComputePriority>(&move))
        return "compute " + std::to_string(computed->job);
    if (auto const* partition = std::get_if<ChangePartition>(&move))
        return "partition " + to_string(partition->job) + ": " + partition->partition;
    return "top " + std::to_string(std::get<MoveToTop>(move).job);
}

inline std::string text_of(std::vector<Move> const& moves) {
    std::string text;
    for (auto const& move : moves) text += (text.empty() ? "" : ", ") + text_of(move);
    return text;
}

inline Reorder ahead(std::uint32_t job, std::uint32_t other) { return {job, Reorder::Side::ahead_of, other}; }
inline Reorder behind(std::uint32_t job, std::uint32_t other) {
    return {job, Reorder::Side::behind_of, other};
}

}  // namespace det::queue
