#pragma once
#include <string_view>

namespace det::yaml {

/// The location of a syntax error: the parser's position, the innermost open list or map, or the first tab.
enum class ErrorLocation { parser_position, innermost_open, first_tab };

/// Replaces the parser's message.
struct SyntaxMessage {
    std::string_view message;
    std::string_view hint;
    ErrorLocation location = ErrorLocation::parser_position;
};

/// `line` is the line at which the parser stopped.
SyntaxMessage explain_parser_message(std::string_view parser_message, std::string_view line);

}  // namespace det::yaml
