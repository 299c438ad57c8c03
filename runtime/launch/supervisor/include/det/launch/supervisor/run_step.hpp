#pragma once
#include <det/launch/supervisor/assignment.hpp>
#include <det/launch/supervisor/run_plan.hpp>
#include <det/slurm/srun.hpp>

#include <filesystem>

namespace det::launch::supervisor {

/// The step of the run: det-wrap-rank with the entrypoint, once per slot or once per node, with a trial's
/// share of the job's CPUs and memory.
slurm::StepRequest make_step_request(Assignment const& assignment, RunPlan const& run,
                                     std::filesystem::path const& wrap_rank);

}  // namespace det::launch::supervisor
