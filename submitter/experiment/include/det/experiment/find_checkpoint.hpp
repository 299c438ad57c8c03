#pragma once
#include <det/checkpoint/store.hpp>
#include <det/experiment/context.hpp>
#include <det/experiment/continue_experiment.hpp>
#include <det/protocol/directory_layout.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace det::experiment {

/// A committed checkpoint and the store that has it.
struct FoundCheckpoint {
    std::unique_ptr<checkpoint::Store> store;
    CheckpointManifest manifest;

    std::string address() const { return store->address_of(manifest.uuid); }
};

/// Looks for a checkpoint in the default storage of the root and in the storages of its experiments. Its
/// manifest must be the one that a journal of the root has recorded, if one has. \param trusted_owner another
/// user to whom the checkpoint may belong
Result<FoundCheckpoint> find_checkpoint(RootLayout const& root, std::string const& uuid,
                                        Environment const& environment,
                                        std::optional<uid_t> trusted_owner = std::nullopt);

/// Removes files from a checkpoint. Records the new SHA-256 of its manifest in the events of the experiment
/// that saved it, if the root has that experiment.
Status remove_files(RootLayout const& root, FoundCheckpoint const& checkpoint,
                    std::vector<std::string> const& paths, Context& context);

/// Replaces the metadata of a checkpoint by a JSON object. Records the new SHA-256 as remove_files() does.
Status set_metadata(RootLayout const& root, FoundCheckpoint const& checkpoint, JsonValue metadata,
                    Context& context);

/// Finds checkpoints that the user wants to remove. Fails with codes::wrong_state if a trial that may still
/// run would resume from one of them, or if one of them is a version of a model.
Result<std::vector<FoundCheckpoint>> require_removable(std::vector<std::string> const& uuids,
                                                       Context& context);

/// Returns the continued trials that ran before and have no checkpoint to resume from. Returns an empty list
/// if the checkpoint storage can't be read.
std::vector<std::uint32_t> find_trials_without_checkpoint(ContinuedExperiment const& continued,
                                                          Environment const& environment);

/// Returns the size of all files of a checkpoint, in bytes.
std::uint64_t total_size(CheckpointManifest const& manifest);

/// Verifies a checkpoint and copies it into a directory, which is created if it does not exist. After an
/// error the directory is as before. codes::name_taken if it has one of the files.
Status copy_checkpoint(checkpoint::Store const& store, std::string const& uuid,
                       std::filesystem::path const& target);

}  // namespace det::experiment
