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

}  // namespace det::launch::supervisor
