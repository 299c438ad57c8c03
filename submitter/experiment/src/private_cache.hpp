#pragma once
#include <det/protocol/json.hpp>

#include <cstddef>
#include <filesystem>
#include <optional>

namespace det::experiment {

/// Reads a small file of this user's cache (Context::cache). nullopt if the file is absent, longer than the
/// limit, damaged, or not private to this user.
std::optional<Json> read_private_cache(std::filesystem::path const& file, std::size_t limit_bytes);
/// Writes such a file, and makes its directory. A failure is ignored.
void write_private_cache(std::filesystem::path const& file, Json const& json);

}  // namespace det::experiment
