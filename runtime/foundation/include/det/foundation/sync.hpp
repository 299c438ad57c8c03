#pragma once
#include <det/foundation/result.hpp>

#include <filesystem>

namespace det {

/// Until what was written to it survives a power cut. Its name does only once its directory is synced as well:
/// sync_directory.
Status sync_file(std::filesystem::path const& path);

}  // namespace det
