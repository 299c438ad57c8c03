#include <det/foundation/text.hpp>
#include <det/yaml/parse.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <sstream>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "tree_builder.hpp"

namespace det::yaml {
namespace {

bool is_forbidden_control(char c) {
    auto const byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7f;
}

/// \return The offset of the first invalid byte.
/// \pre The text is not valid UTF-8.
std::size_t find_invalid_byte(std::string_view text) {
    std::size_t line_start = 0;
    for (auto const line : split(text, '\n')) {
        if (!is_valid_utf8(line)) break;
        line_start += line.size() + 1;
    }
    auto const line = text.substr(line_start, text.find('\n', line_start) - line_start);
    std::size_t valid = 0;
    for (std::size_t size = 1; size <= line.size() && size <= valid + 4; ++size) {
        if (is_valid_utf8(line.substr(valid, size - valid))) valid = size;
    }
    return line_start + valid;
}

/// Finds an error that is reported before the text is parsed: a text that is too large, invalid UTF-8, or a
/// control byte.
std::optional<Error> find_invalid_text(std::shared_ptr<Source const> const& source, Limits const& limits) {
    std::string_view const text = source->text();
    if (text.size() > limits.document_bytes) {
        return Error{codes::document_too_large,
                     fmt::format("{} is {}, a configuration has at most {}", source->name(),
                                 format_size(text.size()), format_size(limits.document_bytes)),
                     "keep data in files of its own and name them in the configuration"};
    }
    auto const control = std::find_if(text.begin(), text.end(), is_forbidden_control);
    if (control != text.end()) {
        auto const byte = static_cast<unsigned char>(*control);
        return Error{
            codes::syntax,
            byte == 0 ? "a NUL byte: this is not a text file"
                      : fmt::format("the control byte \\x{:02x} can't stand in YAML", byte),
            byte == 0 ? "save the file as UTF-8" : fmt::format("write \"\\x{:02x}\" in double quotes", byte),
            location_of_byte(source, static_cast<std::size_t>(control - text.begin())).span()};
    }
    if (!is_valid_utf8(text)) {
        auto const offset = find_invalid_byte(text);
        return Error{codes::syntax,
                     fmt::format("the byte \\x{:02x} is not UTF-8", static_cast<unsigned char>(text[offset])),
                     "save the file as UTF-8", location_of_byte(source, offset).span()};
    }
    return std::nullopt;
}

/// The location of a syntax error: the parser's position, the innermost open list or map, or the first tab.
enum class ErrorLocation { parser_position, innermost_open, first_tab };

/// A message and a hint that are shown in place of yaml-cpp's message.
struct SyntaxMessage {
    std::string_view message;
    std::string_view hint;
    ErrorLocation location = ErrorLocation::parser_position;
};

struct Row {
    std::string_view prefix;  // of the parser's message
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

/// `line` is the line at which the parser stopped.
SyntaxMessage explain_parser_message(std::string_view parser_message, std::string_view line) {
    if (begins_with_tab(line)) return tab_message;
    for (auto const& row : rows) {
        if (parser_message.starts_with(row.prefix)) return row.syntax_message;
    }
    return {parser_message, ""};
}

Error syntax_error(TreeBuilder const& builder, YAML::Exception const& thrown) {
    auto at = builder.location(thrown.mark);
    auto const line = at.source->line(at.line);
    auto const syntax_message = explain_parser_message(thrown.msg, line);
    if (syntax_message.location == ErrorLocation::innermost_open) at = builder.innermost_open().value_or(at);
    if (syntax_message.location == ErrorLocation::first_tab)
        at.column = static_cast<std::uint32_t>(line.find('\t') + 1);
    return Error{codes::syntax, std::string(syntax_message.message), std::string(syntax_message.hint),
                 at.span()};
}

/// Parses `text`: the source itself, or the source with blanks in place of its beginning. Each character of a
/// node has the same line and column in `text` and in the source, so the locations of nodes and of Errors are
/// locations in the source.
Result<Node, Diagnostics> parse_text(std::shared_ptr<Source const> source, std::string text,
                                     Limits const& limits) {
    TreeBuilder builder(source, limits);
    try {
        std::istringstream stream(std::move(text));
        YAML::Parser parser(stream);
        while (parser.HandleNextDocument(builder)) continue;
    } catch (TreeBuilder::ParsingAborted const&) {
        // The builder has reported the reason.
    } catch (YAML::Exception const& thrown) {
        builder.report(syntax_error(builder, thrown));
    }
    return std::move(builder).finish();
}

std::string_view without_byte_order_mark(std::string_view text) {
    constexpr std::string_view mark = "\xef\xbb\xbf";
    return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

}  // namespace

Result<Node, Diagnostics> parse_document(std::string_view text, std::string file_name, Limits const& limits) {
    auto const source =
        std::make_shared<Source const>(std::move(file_name), std::string(without_byte_order_mark(text)));
    if (auto problem = find_invalid_text(source, limits)) return *std::move(problem);
    return parse_text(source, source->text(), limits);
}

Result<Node, Diagnostics> parse_value(std::shared_ptr<Source const> source, std::size_t offset,
                                      Limits const& limits) {
    if (auto problem = find_invalid_text(source, limits)) return *std::move(problem);
    // Spaces in place of the text before the value keep the columns right.
    auto text = source->text();
    text.replace(0, offset, offset, ' ');
    return parse_text(std::move(source), std::move(text), limits);
}

}  // namespace det::yaml
