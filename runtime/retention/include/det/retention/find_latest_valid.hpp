#pragma once
#include <det/checkpoint/store.hpp>
#include <det/retention/gc_policy.hpp>

namespace det::retention {

/// The UUID of the trial's newest checkpoint whose files are whole; nullopt if there is none. Reads the files
/// of the checkpoints, newest first, until one is whole. Fails with any error of the store except that a
/// checkpoint is absent or must not be used (checkpoint::is_unusable()).
/// \param checkpoints oldest first; checkpoints of other trials are ignored
Result<std::optional<std::string>> find_latest_valid(std::span<KnownCheckpoint const> checkpoints,
                                                     std::uint32_t trial, checkpoint::Store const& store);

}  // namespace det::retention
