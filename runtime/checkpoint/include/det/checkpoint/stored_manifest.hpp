#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/checkpoint_manifest.hpp>

#include <string>
#include <string_view>

namespace det::checkpoint {

// What is the same for manifests wherever they are kept.

/// no_such_checkpoint where it is none: it becomes a part of paths.
Status check_uuid(std::string const& uuid);
/// What lies where the manifest of that checkpoint is. checkpoint_damaged where it can't be one.
Result<CheckpointManifest> read_manifest(std::string const& uuid, std::string_view text);
/// Of a checkpoint that holds a file of the manifest's name.
Error manifest_name_taken();

}  // namespace det::checkpoint
