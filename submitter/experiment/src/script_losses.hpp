#pragma once
#include <det/config/experiment_config.hpp>
#include <det/experiment/load_config.hpp>
#include <det/plan/plan.hpp>

namespace det::experiment {

/// Warns of what a batch script loses when its job is requeued after a preemption: work, if no checkpoint is
/// recognised; output, if sbatch truncates its file. Looks for files in the directory in which the script
/// runs.
Diagnostics find_script_losses(SubmittedScript const& script, plan::SubmissionPlan const& plan,
                               config::ExperimentConfig const& config);

}  // namespace det::experiment
