#pragma once
#include <det/protocol/json.hpp>

#include <string>

namespace det::cli {

/// Formats JSON for a terminal. Characters that a terminal may obey or that change the direction of text (C0,
/// DEL, C1, bidirectional controls) are written as \uXXXX, which parsers read as the same characters. Invalid
/// UTF-8 becomes U+FFFD.
///
/// \param indent the number of blanks for each level; -1: one line
std::string json_text(Json const& json, int indent = -1);

}  // namespace det::cli
