#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace det::tracker::index {

/// The name of a file system that several hosts share, or may share (FUSE), by its number in statfs(2);
/// nullopt for all others. Pure.
std::optional<std::string_view> find_shared_file_system(std::uint32_t statfs_type);

/// Fails with codes::bad_value if the directory is on a file system that several hosts may share: SQLite's
/// locks and its shared memory do not work there, and the index would be damaged.
/// \param advice the hint: what to set instead
Status require_local_disk(std::filesystem::path const& directory, std::string_view advice);

}  // namespace det::tracker::index
