#pragma once
#include <det/foundation/result.hpp>
#include <det/queue/order.hpp>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace det::queue {

/// The jobs and the partitions' tiers at one time.
struct QueueState {
    std::vector<slurm::JobStatus> jobs;
    Tiers tiers;
};

enum class Rights {
    owner,      // may change the nice (not below 0) and the partition of its own jobs
    operators,  // may change all jobs, any nice, and priorities
};

struct Caller {
    std::string user;
    Rights rights = Rights::owner;
    bool may_move_to_top = false;  // the site allows owners to run `scontrol top`
};

/// A job must be ahead of (behind) another one. If it is not, it is placed directly before (behind) it.
struct Reorder {
    enum class Side { ahead_of, behind_of };
    std::uint32_t job = 0;
    Side side = Side::ahead_of;
    std::uint32_t other = 0;
};
struct SetLevel {
    std::uint32_t job = 0;
    int level = 0;  // see priority_levels.hpp
};
struct SetPartition {
    std::uint32_t job = 0;
    std::string partition;
};
using Request = std::variant<Reorder, SetLevel, SetPartition>;

std::uint32_t job_of(Request const& request);
std::string to_string(Request const& request);  // "job 3 ahead of job 1"

// Changes, one scontrol call each. The number of an array stands for all its waiting tasks.
struct ChangeNice {
    std::uint32_t job = 0;
    std::int64_t from = 0, to = 0;
};
struct ChangePriority {
    std::uint32_t job = 0;
    std::uint32_t priority = 0;
};
struct ComputePriority {  // Slurm computes the priority again, as for a released job
    std::uint32_t job = 0;
};
struct ChangePartition {
    slurm::JobRef job;
    std::string partition;
};
struct MoveToTop {  // `scontrol top`: lowers other jobs of the same owner, partition, account and QOS
    std::uint32_t job = 0;
};
using Move = std::variant<ChangeNice, ChangePriority, ComputePriority, ChangePartition, MoveToTop>;

/// Plans moves that fulfil all requests and that the caller is permitted to make. In the affected partitions,
/// the other jobs that the caller may change keep their relative order. A job that needs no change gets no
/// move, except that an operator's SetLevel of level 42 always lets Slurm compute the priority again. Pure.
/// \return The moves, or no_such_job, job_not_waiting, not_yours, no_legal_move, usage (contradictory
/// requests, two requests for one job, a level out of range).
Result<std::vector<Move>> plan_moves(QueueState const& queue, Caller const& caller,
                                     std::vector<Request> const& requests);

/// \return The expected queue after the moves. Slurm may recompute time-dependent priorities.
QueueState after_moves(QueueState queue, std::vector<Move> const& moves);

/// Two jobs that changed places.
struct OrderChange {
    std::uint32_t ahead = 0, behind = 0;  // now
};
/// \return The pairs of waiting jobs that these requests set to the same level, and whose order the moves
/// reverse. The order before may come from a Reorder or from other levels. Pure.
std::vector<OrderChange> find_reversed_pairs(QueueState const& before, std::vector<Request> const& requests,
                                             std::vector<Move> const& moves);

/// \return The requests that the queue does not fulfil. A job that has left the queue, runs or is held
/// counts as fulfilled.
std::vector<Request> unfulfilled(QueueState const& queue, std::vector<Request> const& requests,
                                 Caller const& caller);

}  // namespace det::queue
