#pragma once
#include <cstddef>
#include <string_view>

#include "session.hpp"

namespace det::cli {

/// Erases the line of a terminal on which the cursor is.
inline constexpr std::string_view erase_line = "\r\x1b[K";
/// Styles of text on a terminal; plain_style ends the others.
inline constexpr std::string_view bold_style = "\x1b[1m", faint_style = "\x1b[2m", reversed_style = "\x1b[7m",
                                  plain_style = "\x1b[0m";

/// What the destination of answers can show.
struct OutputStyle {
    std::size_t columns = 80;
    bool has_colour = false;
    bool has_unicode = false;
};

/// A terminal shows colours unless NO_COLOR is set or it is a dumb one. The width is COLUMNS, else the
/// terminal's own, else 80, but at least 40 and at most 500. Unicode needs a locale with UTF-8.
OutputStyle output_style_of(Environment const& environment, Destination destination);

}  // namespace det::cli
