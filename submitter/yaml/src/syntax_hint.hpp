#pragma once
#include <string_view>

namespace det::yaml {

/// Where the problem is: at what the parser could not read, at the list or map that it was in, at a tab.
enum class ErrorLocation { parser_position, innermost_open, first_tab };

/// What we say in place of the parser's own words.
struct SyntaxMessage {
    std::string_view message;
    std::string_view hint;
    ErrorLocation location = ErrorLocation::parser_position;
};

/// `line` is where the parser stopped.
SyntaxMessage explain_parser_message(std::string_view parser_message, std::string_view line);

}  // namespace det::yaml
