#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace det::cli {

/// The number of columns that a terminal needs: two for wide characters, none for combining marks. Control
/// bytes must be escaped before.
std::size_t columns_of(std::string_view text);

/// Cuts the text or fills it with blanks to exactly `columns` columns. Never cuts within a character.
std::string fit_columns(std::string_view text, std::size_t columns);

}  // namespace det::cli
