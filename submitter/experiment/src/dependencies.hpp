#pragma once
#include <det/config/experiment_config.hpp>
#include <det/experiment/context.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/protocol/directory_layout.hpp>

#include <string>

namespace det::experiment {

/// Finds the jobs of the experiments and trials in slurm.after and slurm.after_any that have not ended yet.
/// \return the value of sbatch --dependency; empty if there are no such jobs. Errors with the location of the
/// key if an experiment or trial does not exist, or if one of slurm.after did not end well.
Result<std::string, Diagnostics> find_dependency(config::ExperimentConfig const& config,
                                                 RootLayout const& root, Context& context);

}  // namespace det::experiment
