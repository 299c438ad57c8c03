#pragma once
#include <det/foundation/result.hpp>

#include <filesystem>

namespace det {

/// Syncs the contents of a file, so that they survive a power failure. The name of a new file survives only
/// after sync_directory() for its directory.
Status sync_file(std::filesystem::path const& path);

}  // namespace det
