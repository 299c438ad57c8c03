#include "syntax_hint.hpp"

namespace det::yaml {
namespace {

struct Row {
    std::string_view begins;  // beginning of the parser's message
    SyntaxMessage syntax_message;
};

constexpr SyntaxMessage tab_message = {"a tab in the indentation", "indent with blanks",
                                       ErrorLocation::first_tab};

constexpr Row rows[] = {
    {"end of map not found",
     {"this line does not fit in with the lines above it",
      "keys of one map begin in the same column, and each is followed by ': '"}},
    {"end of sequence not found",
     {"this line does not fit in with the list above it",
      "items of one list begin with '- ' in the same column"}},
    {"end of map flow not found",
     {"a '{' that is not closed", "close it with '}'", ErrorLocation::innermost_open}},
    {"end of sequence flow not found",
     {"a '[' that is not closed", "close it with ']'", ErrorLocation::innermost_open}},
    {"illegal map value",
     {"a ':' where none can stand",
      "put a value that contains ': ' in quotes, and give every key a line of its own"}},
    {"illegal map key", {"a key where none can stand", "give every key a line of its own"}},
    {"illegal block entry", {"a '-' where no list can begin", "begin a list on a line of its own"}},
    {"illegal flow end", {"a ']' or '}' that closes nothing", "remove it, or put the value in quotes"}},
    {"unknown token",
     {"a character that can't begin a value", "put a value that begins with @, `, % or a comma in quotes"}},
    {"the referenced anchor is not defined",
     {"an alias to an anchor that is not defined above",
      "mark the value with &name first, or quote the '*'"}},
    {"alias not found after", {"a '*' without a name", "put a value that begins with '*' in quotes"}},
    {"anchor not found after", {"a '&' without a name", "put a value that begins with '&' in quotes"}},
    {"illegal character found while scanning alias", {"a bad name after '*'", "put the value in quotes"}},
    {"illegal character found while scanning anchor", {"a bad name after '&'", "put the value in quotes"}},
    {"tag handle with no suffix", {"a '!' without a tag", "put a value that begins with '!' in quotes"}},
    {"unknown escape character",
     {"an unknown \\ escape in double quotes", "double the backslash, or use single quotes"}},
    {"bad character found while scanning hex", {"a bad \\x, \\u or \\U escape", "double the backslash"}},
    {"invalid unicode", {"an escape that is no Unicode character", "write the character itself"}},
    {"illegal document indicator in scalar", {"a '---' or '...' inside quotes", "close the quote before it"}},
    {"illegal EOF in scalar", {"a quote that is never closed", "close it"}},
    {"unexpected character in block scalar", {"text after '|' or '>'", "begin the text on the next line"}},
    {"cannot set zero indentation", {"a block text indented by 0", "indent it by at least one blank"}},
    {"bad file", {"nested too deep", "no configuration needs that"}},
};

bool begins_with_tab(std::string_view line) {
    auto const indentation = line.substr(0, line.find_first_not_of(" \t"));
    return indentation.find('\t') != std::string_view::npos;
}

}  // namespace

SyntaxMessage explain_parser_message(std::string_view parser_message, std::string_view line) {
    if (begins_with_tab(line)) return tab_message;
    for (auto const& row : rows) {
        if (parser_message.starts_with(row.begins)) return row.syntax_message;
    }
    return {parser_message, ""};
}

}  // namespace det::yaml
