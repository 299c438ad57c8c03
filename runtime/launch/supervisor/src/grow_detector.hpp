#pragma once
#include <det/launch/supervisor/batch_job.hpp>
#include <det/slurm/node.hpp>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "resume_point.hpp"
#include "run_shape.hpp"

namespace det::launch::supervisor {

/// slurm.grow: when an elastic run is requeued for more nodes.
struct GrowPolicy {
    std::chrono::seconds after{};  // the shortest time of a run at its size
    std::chrono::seconds every{};  // the shortest time between two such requeues of a trial
};

/// The policy of the configuration; nullopt if there is none, or if the trial is not elastic. Pure.
std::optional<GrowPolicy> find_grow_policy(ExperimentSpec const& spec);

/// The number of nodes that a run would have if its job were requeued now and no other job waited: the nodes
/// of its job and the idle ones of its partition, without bad and excluded ones, at least its present number
/// and at most the largest size. Pure.
/// \param bad_hosts which the job would not get, or its run would not use
/// \param nodes of the cluster, each once for each of its partitions
int nodes_after_requeue(BatchJob const& batch_job, RunShape const& run,
                        std::vector<std::string> const& bad_hosts, std::vector<slurm::Node> const& nodes);

/// Whether a job waits that Slurm would start before a run whose job was requeued now: one of a higher
/// priority in the same partition, of the same priority and an earlier number, or any in another partition of
/// these nodes, whose priorities can't be compared. Jobs that are held or wait for a time or another job do
/// not count. A task of the same array that waits for its turn does: it would get the turn of this one. Pure.
/// \param nodes of the cluster, each once for each of its partitions
/// \param jobs of all users
bool waits_another_job(BatchJob const& batch_job, std::vector<slurm::Node> const& nodes,
                       std::vector<slurm::JobStatus> const& jobs);

/// How long after its begin a run looks for more nodes first: the policy's `after`, and not before `every`
/// has passed since the trial was last requeued for more. Each such requeue that brought none doubles
/// `every`, up to 32 times: what sinfo shows as idle may never be given to this job, by a limit or a
/// constraint. Pure. \param growths newest first \param nodes of the run that begins now
std::chrono::seconds wait_before_growing(GrowPolicy const& policy, std::span<PastGrowth const> growths,
                                         int nodes, UtcTime now);

/// Decides when a run looks for more nodes, and that it is requeued only after a new checkpoint, so that a
/// program that does not save when it is asked to stop loses little. Pure: times and facts go in.
class GrowDetector {
public:
    using Time = std::chrono::steady_clock::time_point;

    /// \param policy nullopt: never
    /// \param first_check the time of the first check
    GrowDetector(std::optional<GrowPolicy> policy, Time first_check);

    /// When check() is due; nullopt: never.
    std::optional<Time> next_check() const;
    /// Must be called when next_check() is due.
    /// \param can_grow whether a requeue would give more nodes
    /// \param checkpoints number of checkpoints that the run has committed
    /// \return whether to requeue the run now
    bool check(bool can_grow, std::size_t checkpoints, Time now);

private:
    std::chrono::seconds interval() const;

    std::optional<GrowPolicy> policy_;
    Time next_check_at_;
    std::optional<std::size_t> checkpoints_before_;  // when more nodes were first seen
};

}  // namespace det::launch::supervisor
