#pragma once
#include <det/launch/supervisor/node_health.hpp>
#include <det/launch/supervisor/supervise.hpp>

#include <optional>
#include <string>
#include <vector>

#include "run_plan.hpp"

namespace det::launch::supervisor {

/// A node that has failed the health check.
struct UnhealthyNode {
    std::string host;
    std::string why;
};

/// The result of a health check of a run's nodes.
struct HealthVerdict {
    bool is_complete = false;  // all nodes have ended the check
    std::vector<UnhealthyNode> unhealthy = {};
    std::vector<std::string> notes = {};  // for the log
};

/// Decides which nodes have failed: those with a fault; those that did not report; and of two nodes that
/// can't connect, the one with more failed connections, or both.
/// \param reports  of each host; empty if a node has not begun the check
/// \param was_cut_off the check took too long and was ended: nodes that did not complete it have failed
/// Pure.
HealthVerdict judge_health(std::vector<std::string> const& hosts,
                           std::vector<std::optional<HealthReport>> const& reports, bool was_cut_off);

/// Whether `slurm: {health_check: true}` is set.
bool wants_health_check(ExperimentSpec const& spec);

/// Checks the nodes of a run by a step of this job, before the run's own step. Does nothing unless
/// slurm.health_check is set. Blocks for some seconds, at most for a minute, or until Slurm signals this
/// process. If the check can't be made, it logs that and no node has failed.
std::vector<UnhealthyNode> check_health(BatchJob const& batch_job, RunPlan const& run,
                                        SupervisorContext const& context);

}  // namespace det::launch::supervisor
