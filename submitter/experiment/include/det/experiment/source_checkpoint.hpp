#pragma once
#include <det/config/experiment_config.hpp>
#include <det/experiment/context.hpp>
#include <det/protocol/directory_layout.hpp>

#include <optional>
#include <string>
#include <sys/types.h>

namespace det::experiment {

/// A checkpoint from which the trials of an experiment start.
struct SourceCheckpoint {
    std::string uuid;
    std::string manifest_sha256 = {};         // empty: not known
    std::optional<uid_t> trusted_owner = {};  // the other user to whom it may belong
};

/// Finds the checkpoint from which the trials of an experiment start: searcher.source_checkpoint_uuid, or the
/// newest whole checkpoint of searcher.source_trial_id. Reads all of its files, if they are in a directory,
/// and compares them with their checksums.
/// \return nothing if the configuration names none; errors with the place of the key if there is no such
/// trial or checkpoint, if it is damaged, if it is not in the checkpoint storage of the experiment, or if it
/// belongs to a user who is not trusted
/// \param trusted_owner another user to whom it may belong
Result<std::optional<SourceCheckpoint>> find_source_checkpoint(config::ExperimentConfig const& config,
                                                               RootLayout const& root, Context& context,
                                                               std::optional<uid_t> trusted_owner);

}  // namespace det::experiment
