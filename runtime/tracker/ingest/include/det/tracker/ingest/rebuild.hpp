#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/tracker/index/database.hpp>

#include <filesystem>

namespace det::tracker::ingest {

/// Makes the index anew from the journals and replaces the one at `path`. The old one stays until the new one
/// is complete and synced. No process may have the index open for writing.
Status rebuild_index(std::filesystem::path const& path, RootLayout const& root);

/// Opens the index for writing; creates it if there is none, and makes it anew if it is damaged, of another
/// version or of another root.
Result<index::Database> open_or_rebuild_index(std::filesystem::path const& path, RootLayout const& root);

}  // namespace det::tracker::ingest
