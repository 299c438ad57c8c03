#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/checkpoint_manifest.hpp>

#include <string>
#include <string_view>

namespace det::checkpoint {

// Checks of manifests that every store makes. Pure.

/// Checks text that becomes a part of paths.
/// \return codes::no_such_checkpoint if it is not a UUID
Status check_uuid(std::string const& uuid);
/// Parses what a store has as the manifest of that checkpoint.
/// \return codes::checkpoint_damaged if it cannot be that manifest
Result<CheckpointManifest> read_manifest(std::string const& uuid, std::string_view text);
/// For a checkpoint that holds a file with the name of the manifest: codes::bad_value.
Error manifest_name_taken();
/// codes::checkpoint_damaged: "checkpoint <uuid> is damaged: <why>".
Error damaged_error(std::string const& uuid, std::string const& why);

}  // namespace det::checkpoint
