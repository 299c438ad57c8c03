#pragma once
#include <det/slurm/srun.hpp>
#include <det/supervisor/assignment.hpp>
#include <det/supervisor/resume_point.hpp>

#include <cstdint>
#include <filesystem>

namespace det::supervisor {

/// Everything that tasks of a run learn from their environment: the job's, over it the user's
/// environment_variables, over those ours. Pure.
Environment make_run_environment(Assignment const& assignment, ResumePoint const& resume,
                                 std::uint32_t trial_seed, std::uint16_t master_port, Environment const& job);

/// The step: what det-wrap-rank is to run, on every slot or on every node.
slurm::StepRequest make_step_request(Assignment const& assignment, std::filesystem::path const& wrap_rank);

}  // namespace det::supervisor
