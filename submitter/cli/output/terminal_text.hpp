#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace det::cli {

/// How many columns a terminal needs for it: two for wide characters, none for marks that combine. Control
/// bytes must be escaped before.
std::size_t columns_of(std::string_view text);

/// Exactly so many columns: cut off, never within a character, and filled up with blanks.
std::string fit_columns(std::string_view text, std::size_t columns);

}  // namespace det::cli
