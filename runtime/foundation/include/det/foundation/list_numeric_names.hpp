#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace det {

/// The names in a directory that are decimal numbers of at most 32 bits, ascending; empty if the directory
/// does not exist.
Result<std::vector<std::uint32_t>> list_numeric_names(std::filesystem::path const& directory);

}  // namespace det
