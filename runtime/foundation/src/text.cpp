#include <det/foundation/text.hpp>

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <numeric>

namespace det {
namespace {

// Fast path: most text is ASCII and needs no UTF-8 decoding.
bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool is_printable_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

/// The length in bytes of the UTF-8 character at the start of `text`; 0 if it is invalid.
std::size_t utf8_length(std::string_view text) {
    auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    auto const lead = byte(0);
    if (lead < 0x80) return 1;
    std::size_t const length = lead >= 0xf5 ? 0 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
    if (length == 0 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
    }
    bool const overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
    bool const surrogate = lead == 0xed && byte(1) >= 0xa0;
    bool const beyond_unicode = lead == 0xf4 && byte(1) >= 0x90;
    return overlong || surrogate || beyond_unicode ? 0 : length;
}

bool is_c1_control(std::string_view character) {
    return character.size() == 2 && static_cast<unsigned char>(character[0]) == 0xc2 &&
           static_cast<unsigned char>(character[1]) < 0xa0;
}

/// Invisible characters that change the text direction and can make a line look different from its contents.
bool is_bidi_control(std::string_view character) {
    if (character == "\xd8\x9c") return true;  // U+061C
    if (character.size() != 3 || static_cast<unsigned char>(character[0]) != 0xe2) return false;
    auto const second = static_cast<unsigned char>(character[1]);
    auto const third = static_cast<unsigned char>(character[2]);
    return (second == 0x80 && (third == 0x8e || third == 0x8f)) ||
           (second == 0x80 && third >= 0xaa && third <= 0xae) ||
           (second == 0x81 && third >= 0xa6 && third <= 0xa9);
}

/// The number of letters to insert, remove or replace, and of neighbours to swap (the optimal string
/// alignment distance).
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::swap(before_last, last);
        std::swap(last, row);
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            auto const replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
            bool const is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (is_swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
        }
    }
    return row.back();
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> pieces;
    for (;;) {
        auto const end = text.find(separator);
        pieces.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return pieces;
        text.remove_prefix(end + 1);
    }
}

std::vector<std::string_view> split_lines(std::string_view text) {
    auto lines = split(text, '\n');
    if (lines.back().empty()) lines.pop_back();
    return lines;
}

std::string_view trim(std::string_view text) {
    auto const first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string join(std::span<std::string const> parts, std::string_view separator) {
    std::string out;
    for (auto const& part : parts) {
        if (&part != parts.data()) out += separator;
        out += part;
    }
    return out;
}

std::string csv_field(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
    std::string quoted = "\"";
    for (char const c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

std::string quote_for_shell(std::string_view text) {
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@%+";
    if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) return std::string(text);
    std::string out = "'";
    for (char const c : text) {
        if (c == '\'') {
            out += "'\\''";
        } else {
            out += c;
        }
    }
    return out + "'";
}

std::string escape_control(std::string_view text) {
    if (is_printable_ascii(text)) return std::string(text);
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        auto const length = utf8_length(text);
        auto const character = text.substr(0, std::max<std::size_t>(length, 1));
        auto const byte = static_cast<unsigned char>(text[0]);
        bool const harmless = length != 0 && byte >= 0x20 && byte != 0x7f && !is_c1_control(character) &&
                              !is_bidi_control(character);
        if (harmless) {
            out += character;
        } else if (byte == '\n') {
            out += "\\n";
        } else if (byte == '\t') {
            out += "\\t";
        } else if (byte == '\r') {
            out += "\\r";
        } else {
            for (char const c : character) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        }
        text.remove_prefix(character.size());
    }
    return out;
}

bool is_valid_utf8(std::string_view text) {
    if (is_ascii(text)) return true;
    while (!text.empty()) {
        auto const length = utf8_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string to_lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return out;
}

std::optional<std::string_view> nearest_word(std::string_view typed,
                                             std::span<std::string_view const> candidates) {
    constexpr std::size_t word_size_max = 64;  // the time is quadratic in the size; keys are shorter
    if (typed.size() > word_size_max) return std::nullopt;
    std::optional<std::string_view> best;
    std::size_t best_distance = 3;
    for (auto const candidate : candidates) {
        auto const distance = edit_distance(to_lower(typed), to_lower(candidate));
        // For short words, a distance above half the length is not a typing error.
        if (distance < best_distance && distance * 2 <= candidate.size()) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

std::string format_size(std::size_t size_bytes) {
    constexpr std::string_view units[] = {"KiB", "MiB", "GiB", "TiB"};
    if (size_bytes < 1024) return fmt::format("{} B", size_bytes);
    auto value = static_cast<double>(size_bytes) / 1024;
    std::size_t unit = 0;
    while (value >= 1024 && unit + 1 < std::size(units)) {
        value /= 1024;
        ++unit;
    }
    return fmt::format("{:.1f} {}", value, units[unit]);
}

std::optional<double> parse_duration_s(std::string_view text) {
    struct DurationUnit {
        std::string_view name;
        double seconds;
    };
    constexpr DurationUnit units[] = {{"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86'400}};
    constexpr double limit_s = 86'400e6;
    double value = 0;
    auto const* const end = text.data() + text.size();
    auto const [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{}) return std::nullopt;
    for (auto const& unit : units) {
        if (std::string_view(stop, end) != unit.name) continue;
        auto const seconds = value * unit.seconds;
        return seconds >= 0 && seconds <= limit_s ? std::optional(seconds) : std::nullopt;
    }
    return std::nullopt;
}

}  // namespace det
