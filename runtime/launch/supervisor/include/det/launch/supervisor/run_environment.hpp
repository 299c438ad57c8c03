#pragma once
#include <det/launch/supervisor/assignment.hpp>
#include <det/launch/supervisor/resume_point.hpp>
#include <det/slurm/srun.hpp>

#include <cstdint>
#include <filesystem>

namespace det::launch::supervisor {

/// A run that is about to start.
struct RunPlan {
    RunId id;
    ResumePoint resume;
    std::string hosts;  // compressed host list in rank order
    std::uint32_t trial_seed = 0;
    std::uint16_t master_port = 0;
    std::string trial_dir = {};  // DET_TRIAL_DIR
    bool signals_reach_all = false;  // Slurm signals every process of a step
};

/// The environment of the run's tasks: the job's environment, overridden by the user's environment_variables,
/// overridden by the variables that det-submit defines. Pure.
Environment make_run_environment(Assignment const& assignment, RunPlan const& run, Environment const& job);

/// The step of the run: det-wrap-rank with the entrypoint, once per slot or once per node, with the lane's
/// share of the job's CPUs and memory.
slurm::StepRequest make_step_request(Assignment const& assignment, RunPlan const& run,
                                     std::filesystem::path const& wrap_rank);

}  // namespace det::launch::supervisor
