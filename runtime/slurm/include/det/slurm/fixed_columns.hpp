#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace det::slurm {

/// Rows of columns of fixed width, each row ended by a newline, cut by counting bytes: separators and
/// newlines in a field are part of it. Nothing where the text is no whole number of rows. Fields come without
/// trailing blanks.
std::optional<std::vector<std::vector<std::string_view>>> parse_fixed_columns(
    std::string_view text, std::span<std::size_t const> widths);

}  // namespace det::slurm
