#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace det {

/// The numbers among the names in a directory, ascending; an absent directory has none.
Result<std::vector<std::uint32_t>> list_numbers(std::filesystem::path const& directory);

}  // namespace det
