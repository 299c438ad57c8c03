#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <string>
#include <vector>

namespace det::launch {

/// `det-launch script [--config KEY=VALUE]... [--template NAME] SCRIPT [ARGUMENT]...`: continues the batch
/// step of a job of sbatch as an experiment that runs the script. In a run of an experiment of this job, runs
/// the script itself. Returns only on failure.
///
/// \return codes::not_in_slurm outside of a batch step; codes::usage if the caller is not the batch script's
/// own process; codes::not_supported in a heterogeneous job; errors of det-submit
Error run_script_in_job(std::vector<std::string> const& arguments, Environment environment);

/// The name of the process in /proc/PID/cmdline says which step a slurmstepd runs: "slurmstepd: [12.batch]",
/// "slurmstepd: [12.0]". Pure.
Status check_is_batch_process(std::string_view parent);

}  // namespace det::launch
