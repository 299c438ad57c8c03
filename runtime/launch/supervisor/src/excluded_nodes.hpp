#pragma once
#include <det/launch/supervisor/batch_job.hpp>
#include <det/launch/supervisor/supervise.hpp>
#include <det/lifecycle/run_end.hpp>

#include <string>
#include <vector>

namespace det::launch::supervisor {

/// \return The nodes on which runs of any trial of the experiment failed.
std::vector<std::string> bad_hosts_of(BatchJob const& batch_job);

/// \return As many of the job's nodes as a run needs, as a Slurm host list. Those in `bad` are left out if
///     enough others are left.
Result<std::string> choose_hosts(BatchJob const& batch_job, std::vector<std::string> const& bad);

/// Records the outcome's bad nodes for the other trials of the experiment and for other experiments, and
/// excludes them from the tasks of the array that still wait. Logs errors.
void remember_bad_nodes(BatchJob const& batch_job, SupervisorContext const& context,
                        lifecycle::RunOutcome const& outcome);

}  // namespace det::launch::supervisor
