#pragma once
#include <charconv>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace det {

std::vector<std::string_view> split(std::string_view text, char separator);
/// Like split at newlines, but without the empty piece after a final newline.
std::vector<std::string_view> split_lines(std::string_view text);
/// Deleted for temporaries, because the pieces are views of the text.
template <std::same_as<std::string> Temporary>
std::vector<std::string_view> split(Temporary&& text, char separator) = delete;
template <std::same_as<std::string> Temporary>
std::vector<std::string_view> split_lines(Temporary&& text) = delete;
/// Removes spaces, tabs, carriage returns and newlines at both ends.
std::string_view trim(std::string_view text);
std::string join(std::span<std::string const> parts, std::string_view separator);

/// Parses the whole text as a decimal number. Returns nullopt if it is not a number or does not fit T.
template <std::integral T>
std::optional<T> parse_integer(std::string_view text) {
    T value{};
    auto const end = text.data() + text.size();
    auto const [stop, error] = std::from_chars(text.data(), end, value);
    if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
    return value;
}

/// Parses a number with a unit (ms, s, m, h or d), such as "90s" or "1.5h", to seconds. Returns nullopt for
/// anything else, and if it is negative or more than a million days.
std::optional<double> parse_duration_s(std::string_view text);

/// Quotes `text` as one word of a POSIX shell.
std::string quote_for_shell(std::string_view text);
/// Quotes `text` as a field of comma-separated values (RFC 4180), if it needs that.
std::string csv_field(std::string_view text);
/// Escapes control characters, invalid UTF-8 and characters that change the direction of text (as `\n`,
/// `\x1b` ...). The result is one line that is safe to print.
std::string escape_control(std::string_view text);
bool is_valid_utf8(std::string_view text);
std::string to_lower(std::string_view text);

/// The candidate that is nearest to `typed`, without regard to case: at most 2 edits away, and at most half
/// as many edits as the candidate has letters. Two neighbours that are swapped are one edit. nullopt if there
/// is none, or if `typed` has more than 64 letters.
std::optional<std::string_view> nearest_word(std::string_view typed,
                                             std::span<std::string_view const> candidates);

/// Formats like "1.5 MiB".
std::string format_size(std::size_t size_bytes);

}  // namespace det
