#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace det::cli {

/// Returns the number of terminal columns that the text needs: two for a wide character, none for a combining
/// mark. The caller must have escaped control bytes.
std::size_t columns_of(std::string_view text);

/// Cuts the text or appends blanks, so that it has exactly `columns` columns. Never cuts within a character.
std::string fit_columns(std::string_view text, std::size_t columns);

}  // namespace det::cli
