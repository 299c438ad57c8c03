#include "logs/terminal_lines.hpp"

#include <det/foundation/local_time.hpp>

#include <array>
#include <fmt/format.h>

#include "output/output_style.hpp"

namespace det::cli {
namespace {

// ANSI codes of a colour each, then the same in bold: the ranks of a node with eight GPUs differ. Red would
// look like an error; blue is hard to read on black, and bright colours on white.
constexpr std::array<std::string_view, 8> rank_colours{"36",   "33",   "35",   "32",
                                                       "1;36", "1;33", "1;35", "1;32"};
std::string coloured_label(LogLine const& line) {
    if (!line.rank) return "";
    auto const colour = rank_colours[*line.rank % rank_colours.size()];
    return fmt::format("\x1b[{}m[rank={}]{} ", colour, *line.rank, plain_style);
}

}  // namespace

std::string TerminalLines::format(LogLine const& line) {
    auto const time = has_colour_ ? parse_utc(line.time) : std::nullopt;
    if (!time) return escape_control_except_tabs(line.whole);
    std::string text;
    if (auto date = format_local(*time, "%Y-%m-%d, times in %Z"); date != date_) {
        text = fmt::format("{}{}{}\n", faint_style, date, plain_style);
        date_ = std::move(date);
    }
    return text + format_local(*time, "%H:%M:%S ") + coloured_label(line) +
           escape_control_except_tabs(line.text);
}

}  // namespace det::cli
