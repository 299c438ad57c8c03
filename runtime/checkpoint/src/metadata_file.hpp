#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/checkpoint_manifest.hpp>

#include <filesystem>

namespace det::checkpoint {

/// metadata.json, as Determined writes it beside the user's files; synced.
Result<CheckpointFile> write_metadata(std::filesystem::path const& directory, Json const& metadata);

/// codes::misuse where it is no map.
Status check_metadata(Json const& metadata);

}  // namespace det::checkpoint
