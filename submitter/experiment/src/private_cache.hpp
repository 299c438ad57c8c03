#pragma once
#include <det/protocol/json.hpp>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace det::experiment {

/// Reads a small file of this user's cache (Context::cache). nullopt if the file is absent, longer than the
/// limit, or not private to this user.
std::optional<std::string> read_private_text(std::filesystem::path const& file, std::size_t limit_bytes);
/// nullopt also if the file is no JSON.
std::optional<Json> read_private_cache(std::filesystem::path const& file, std::size_t limit_bytes);
/// Writes such a file, and makes its directory. A failure is ignored.
void write_private_text(std::filesystem::path const& file, std::string_view text);
void write_private_cache(std::filesystem::path const& file, Json const& json);

}  // namespace det::experiment
