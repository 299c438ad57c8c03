#pragma once
#include <det/foundation/result.hpp>
#include <det/queue/order.hpp>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace det::queue {

/// What squeue and the partitions say at one time.
struct QueueState {
    std::vector<slurm::JobStatus> jobs;
    Tiers tiers;
};

enum class Rights {
    owner,      // of some of the jobs: their nice, never below 0, and their partition
    operators,  // everybody's jobs, any nice, and priorities
};

struct Caller {
    std::string user;
    Rights rights = Rights::owner;
    bool may_move_to_top = false;  // the site allows `scontrol top` to owners
};

/// A job is to stand directly before (behind) another one, where it does not anyway.
struct Reorder {
    enum class Side { ahead_of, behind_of };
    std::uint32_t job = 0;
    Side side = Side::ahead_of;
    std::uint32_t other = 0;
};
struct SetLevel {
    std::uint32_t job = 0;
    int level = 0;  // see levels.hpp
};
struct SetPartition {
    std::uint32_t job = 0;
    std::string partition;
};
using Request = std::variant<Reorder, SetLevel, SetPartition>;

std::uint32_t job_of(Request const& request);
std::string to_string(Request const& request);  // "job 3 ahead of job 1"

// What Slurm is told: one call each. A job is an array's number where all its waiting tasks are meant.
struct ChangeNice {
    std::uint32_t job = 0;
    std::int64_t from = 0, to = 0;
};
struct ChangePriority {
    std::uint32_t job = 0;
    std::uint32_t priority = 0;
};
struct ComputePriority {  // Slurm computes it again, as for a job that is released
    std::uint32_t job = 0;
};
struct ChangePartition {
    slurm::JobRef job;
    std::string partition;
};
struct MoveToTop {  // of one's own jobs in its partition, which make up for it
    std::uint32_t job = 0;
};
using Move = std::variant<ChangeNice, ChangePriority, ComputePriority, ChangePartition, MoveToTop>;

/// The fewest moves which the caller may make that give all that is asked for, or why there are none:
/// no_such_job, job_not_waiting, not_yours, no_legal_move, usage (requests that contradict each other, two
/// for one job). Other jobs of the caller keep their order among themselves. A job with nothing to change
/// needs no move. Pure.
Result<std::vector<Move>> plan_moves(QueueState const& queue, Caller const& caller,
                                     std::vector<Request> const& requests);

/// The queue as it is to be expected when the moves are made: Slurm may compute anew what depends on time.
QueueState after_moves(QueueState queue, std::vector<Move> const& moves);

/// Those of the requests that a queue does not fulfil. A job that has left the queue or has its nodes asks
/// for nothing.
std::vector<Request> unfulfilled(QueueState const& queue, std::vector<Request> const& requests,
                                 Caller const& caller);

}  // namespace det::queue
