#pragma once
#include <det/launch/supervisor/assignment.hpp>
#include <det/launch/supervisor/resume_point.hpp>
#include <det/slurm/srun.hpp>

#include <cstdint>
#include <filesystem>

namespace det::launch::supervisor {

/// A run that is about to begin.
struct RunPlan {
    RunId id;
    ResumePoint resume;
    std::string hosts;  // that it runs on, compressed, in rank order
    std::uint32_t trial_seed = 0;
    std::uint16_t master_port = 0;
};

/// Everything that tasks of a run learn from their environment: the job's, over it the user's
/// environment_variables, over those ours. Pure.
Environment make_run_environment(Assignment const& assignment, RunPlan const& run, Environment const& job);

/// The step: what det-wrap-rank is to run, on every slot or on every node, and the share of the job that a
/// lane has.
slurm::StepRequest make_step_request(Assignment const& assignment, RunPlan const& run,
                                     std::filesystem::path const& wrap_rank);

}  // namespace det::launch::supervisor
