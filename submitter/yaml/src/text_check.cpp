#include "text_check.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>

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

}  // namespace

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
            byte == 0 ? "a NUL byte: this is no UTF-8 text"
                      : fmt::format("the control byte \\x{:02x} can't stand in YAML", byte),
            byte == 0 ? "save the file as UTF-8" : fmt::format("write \"\\x{:02x}\" in double quotes", byte),
            location_of_byte(source, static_cast<std::size_t>(control - text.begin())).span()};
    }
    if (!is_valid_utf8(text)) {
        auto const offset = find_invalid_byte(text);
        return Error{codes::syntax,
                     fmt::format("the byte \\x{:02x} is no UTF-8", static_cast<unsigned char>(text[offset])),
                     "save the file as UTF-8", location_of_byte(source, offset).span()};
    }
    return std::nullopt;
}

}  // namespace det::yaml
