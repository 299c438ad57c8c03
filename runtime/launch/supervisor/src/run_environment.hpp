#pragma once
#include <det/foundation/environment.hpp>
#include <det/launch/supervisor/batch_job.hpp>

#include "run_plan.hpp"

namespace det::launch::supervisor {

/// The environment of the run's tasks: the job's environment, overridden by the user's environment_variables,
/// overridden by the variables that det-submit defines. Three kinds keep a value that is set: det-submit's
/// directories are added to PYTHONPATH, and PYTHONUNBUFFERED and the paths of PyTorch's flight recorder are
/// not changed.
Environment make_run_environment(BatchJob const& batch_job, RunPlan const& run, Environment const& job);

/// Removes the variables that srun reads as its options, but that describe the batch step.
void unset_batch_step(Environment& environment);

/// Returns the environment of the sampler of an experiment: that of the batch job, with the configured
/// variables and the package `determined`.
Environment make_sampler_environment(ExperimentSpec const& spec, Environment const& job);

/// The specification with another searcher.max_length, in searcher.unit: ranks see how far the sampler of the
/// search lets their trial train.
ExperimentSpec with_training_length(ExperimentSpec spec, std::uint64_t length);

}  // namespace det::launch::supervisor
