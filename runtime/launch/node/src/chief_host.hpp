#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/launch_options.hpp>
#include <det/protocol/task_identity.hpp>

#include <string>

namespace det::launch::node {

/// Whether the node of rank 0 must be learnt from rank 0 itself: in a supervised run of several nodes whose
/// ranks srun starts. Slurm's host list does not say where rank 0 is: Slurm 26.05 lays tasks out in the order
/// of a topology, or by names, and lists the nodes in another order.
bool must_learn_chief(Environment const& environment);

/// Learns the node of rank 0, if that must be learnt: rank 0 of the run's own step writes the name of its
/// node into the run's directory, and each other task of the step waits for it. Sets DET_CHIEF_IP. Returns
/// the task as identify_task() sees it with that knowledge. codes::timed_out if rank 0 has not started after
/// DET_SILENCE_S.
Result<TaskIdentity> learn_chief(Environment& environment, TaskIdentity const& task, std::string const& host);

}  // namespace det::launch::node
