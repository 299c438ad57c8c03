#pragma once
#include <det/launch/supervisor/batch_job.hpp>
#include <det/slurm/srun.hpp>

#include <filesystem>

#include "run_plan.hpp"

namespace det::launch::supervisor {

/// The step of the run: det-wrap-rank with the entrypoint, once per slot or once per node, with a trial's
/// share of the job's CPUs and memory.
slurm::StepRequest make_step_request(BatchJob const& batch_job, RunPlan const& run,
                                     std::filesystem::path const& wrap_rank);

/// The argv of a batch script (`launch: script`), which is started in the batch step. It runs in
/// batch_script->working_directory, or in the directory of the trial's code.
std::vector<std::string> make_script_command(BatchJob const& batch_job,
                                             std::filesystem::path const& wrap_rank);

}  // namespace det::launch::supervisor
