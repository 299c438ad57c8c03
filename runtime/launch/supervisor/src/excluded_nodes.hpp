#pragma once
#include <det/launch/supervisor/batch_job.hpp>
#include <det/launch/supervisor/supervise.hpp>
#include <det/lifecycle/run_end.hpp>

#include <string>
#include <vector>

namespace det::launch::supervisor {

/// \return The nodes on which runs of any trial of the experiment failed.
std::vector<std::string> bad_hosts_of(BatchJob const& batch_job);

/// Records the outcome's bad nodes for the other trials of the experiment and for other experiments, and
/// excludes them from the tasks of the array that still wait. Logs errors.
void remember_bad_nodes(BatchJob const& batch_job, SupervisorContext const& context,
                        lifecycle::RunOutcome const& outcome);

}  // namespace det::launch::supervisor
