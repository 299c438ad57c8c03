#pragma once
#include <det/checkpoint/store.hpp>
#include <det/protocol/layout.hpp>

#include <memory>
#include <string>

#include "session.hpp"

namespace det::cli {

/// A committed checkpoint and the store that has it.
struct FoundCheckpoint {
    std::unique_ptr<checkpoint::Store> store;
    CheckpointManifest manifest;

    std::string address() const { return store->address_of(manifest.uuid); }
};

/// Looks for it in the storage of the root and in those of its experiments.
Result<FoundCheckpoint> find_checkpoint(RootLayout const& root, std::string const& uuid,
                                        Environment const& environment);

/// Of all its files.
std::uint64_t total_size(CheckpointManifest const& manifest);

/// Copies a checkpoint, once it was found whole, into a directory that is not there yet, and gives the
/// command's answer.
Status download_and_answer(checkpoint::Store const& store, std::string const& uuid,
                           std::filesystem::path const& target, Session& session);

}  // namespace det::cli
