#include "json_text.hpp"

#include <det/foundation/text.hpp>

#include <fmt/format.h>

namespace det::cli {
namespace {

/// The number of bytes of the character that begins with this byte of valid UTF-8.
std::size_t character_size(unsigned char lead) {
    return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/// The number of a character of the Basic Multilingual Plane, where all control characters are.
unsigned code_of(std::string_view character) {
    auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
    if (character.size() == 1) return byte(0);
    if (character.size() == 2) return (byte(0) & 0x1fu) << 6 | (byte(1) & 0x3fu);
    return (byte(0) & 0x0fu) << 12 | (byte(1) & 0x3fu) << 6 | (byte(2) & 0x3fu);
}

}  // namespace

std::string json_text(Json const& json, int indent) {
    auto const text = to_lines(json, indent);
    std::string out;
    out.reserve(text.size());
    for (std::string_view rest = text; !rest.empty();) {
        auto const lead = static_cast<unsigned char>(rest[0]);
        auto const character = rest.substr(0, character_size(lead));
        bool const is_plain = (lead < 0x7f) || (lead > 0x7f && escape_control(character) == character);
        if (is_plain) {
            out += character;  // line breaks are between values: dump() escapes those in strings
        } else {
            out += fmt::format("\\u{:04x}", code_of(character));
        }
        rest.remove_prefix(character.size());
    }
    return out;
}

}  // namespace det::cli
