#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace det::slurm {

/// Parses rows of fixed-width columns by counting bytes, each row ended by a newline: separators and newlines
/// in a field are part of the field. Empty if the text is not a whole number of rows. Fields are returned
/// without trailing blanks.
std::optional<std::vector<std::vector<std::string_view>>> parse_fixed_columns(
    std::string_view text, std::span<std::size_t const> widths);

}  // namespace det::slurm
