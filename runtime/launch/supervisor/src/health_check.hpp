#pragma once
#include <det/launch/supervisor/node_health.hpp>
#include <det/launch/supervisor/supervise.hpp>

#include <chrono>
#include <functional>
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
    bool lacks_command = false;           // no node has the program of the command
    /// All of several nodes fail by nothing but the command: it may be wrong, and not the nodes.
    bool fails_by_command_only = false;
};

/// Decides which nodes have failed: those with a fault; those that did not report; and of two nodes that
/// can't connect, the one with more failed connections, or both.
/// \param reports  of each host; empty if a node has not begun the check
/// \param limit how long the check took if it was ended, because that was too long: nodes that did not
///              complete it have failed
/// Pure.
HealthVerdict judge_health(std::vector<std::string> const& hosts,
                           std::vector<std::optional<HealthReport>> const& reports,
                           std::optional<std::chrono::seconds> limit);

/// Whether `slurm.health_check` is true or a map.
bool wants_health_check(ExperimentSpec const& spec);

/// Checks the nodes of a run by a step of this job, before the run's own step. Does nothing unless
/// slurm.health_check is set. Blocks for some seconds, at most for a minute and the timeout of the command,
/// or until the run must not start any more. If the check can't be made, it logs that and no node has failed.
/// \param is_stopped see run_node_step()
/// \return the nodes that fail; codes::interrupted if the run must not start any more; codes::no_such_file if
///     no node has the program of slurm.health_check.command, also on others of several nodes or runs
Result<HealthVerdict> check_health(BatchJob const& batch_job, RunPlan const& run,
                                   SupervisorContext const& context, std::function<bool()> const& is_stopped);

}  // namespace det::launch::supervisor
