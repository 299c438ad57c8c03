#pragma once
#include <det/checkpoint/shared_fs_store.hpp>
#include <det/protocol/layout.hpp>

#include <string>

#include "session.hpp"

namespace det::cli {

/// A committed checkpoint and where it is kept.
struct FoundCheckpoint {
    checkpoint::SharedFsStore store;
    CheckpointManifest manifest;

    std::filesystem::path path() const { return store.path_of(manifest.uuid); }
};

/// Looks for it in the storage of the root and in those of its experiments.
Result<FoundCheckpoint> find_checkpoint(RootLayout const& root, std::string const& uuid);

/// Of all its files.
std::uint64_t total_size(CheckpointManifest const& manifest);

/// Copies a checkpoint that was verified into a directory that is not there yet.
Status download_checkpoint(FoundCheckpoint const& checkpoint, std::filesystem::path const& target);

/// download_checkpoint, and the command's answer.
Status download_and_answer(FoundCheckpoint const& checkpoint, std::filesystem::path const& target,
                           Session& session);

}  // namespace det::cli
