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
/// Like split, but without the empty last piece of a text that ends in a newline.
std::vector<std::string_view> split_lines(std::string_view text);
/// The pieces are views: of a text that stays.
template <std::same_as<std::string> Temporary>
std::vector<std::string_view> split(Temporary&& text, char separator) = delete;
template <std::same_as<std::string> Temporary>
std::vector<std::string_view> split_lines(Temporary&& text) = delete;
std::string_view trim(std::string_view text);
std::string join(std::span<std::string const> parts, std::string_view separator);

/// The whole text as a decimal number that fits T, else nothing.
template <std::integral T>
std::optional<T> parse_integer(std::string_view text) {
    T value{};
    auto const end = text.data() + text.size();
    auto const [stop, error] = std::from_chars(text.data(), end, value);
    if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
    return value;
}

/// One word of POSIX shell that means exactly `text`, whatever it holds.
std::string quote_for_shell(std::string_view text);
/// Control bytes and invalid UTF-8 as \n, \x1b ...: safe to print on a terminal, one line.
std::string escape_control(std::string_view text);
bool is_valid_utf8(std::string_view text);
std::string to_lower(std::string_view text);

/// The candidate within edit distance 2 that is nearest to what was typed, for hints.
std::optional<std::string_view> nearest_word(std::string_view typed,
                                             std::span<std::string_view const> candidates);

/// "1.5 MiB", for people.
std::string format_size(std::size_t size_bytes);

}  // namespace det
