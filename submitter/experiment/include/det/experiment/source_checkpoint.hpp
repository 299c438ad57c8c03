#pragma once
#include <det/config/experiment_config.hpp>
#include <det/experiment/context.hpp>
#include <det/protocol/directory_layout.hpp>

#include <optional>
#include <string>

namespace det::experiment {

/// Finds the checkpoint from which the trials of an experiment start: searcher.source_checkpoint_uuid, or the
/// newest whole checkpoint of searcher.source_trial_id. Reads all of its files, if they are in a directory,
/// and compares them with their checksums.
/// \return nothing if the configuration names none; errors with the place of the key if there is no such
/// trial or checkpoint, if it is damaged, or if it is not in the checkpoint storage of the experiment
Result<std::optional<std::string>> find_source_checkpoint(config::ExperimentConfig const& config,
                                                          RootLayout const& root, Context& context);

}  // namespace det::experiment
