#include "logs/terminal_lines.hpp"

#include <array>
#include <ctime>
#include <fmt/format.h>

namespace det::cli {
namespace {

// ANSI codes of a colour each, then the same in bold: the ranks of a node with eight GPUs differ. Red would
// look like an error; blue is hard to read on black, and bright colours on white.
constexpr std::array<std::string_view, 8> rank_colours{"36",   "33",   "35",   "32",
                                                       "1;36", "1;33", "1;35", "1;32"};
constexpr std::string_view faint = "\x1b[2m", plain = "\x1b[0m";

std::string local_text(std::tm const& local, char const* format) {
    char text[64];
    return std::string(text, std::strftime(text, sizeof text, format, &local));
}

std::string coloured_label(LogLine const& line) {
    if (!line.rank) return "";
    auto const colour = rank_colours[*line.rank % rank_colours.size()];
    return fmt::format("\x1b[{}m[rank={}]{} ", colour, *line.rank, plain);
}

}  // namespace

std::string TerminalLines::format(LogLine const& line) {
    auto const time = has_colour_ ? parse_utc(line.time) : std::nullopt;
    if (!time) return escape_control_except_tabs(line.whole);
    auto const seconds = static_cast<std::time_t>(time->microseconds / 1'000'000);
    std::tm local{};
    ::localtime_r(&seconds, &local);
    std::string text;
    if (auto date = local_text(local, "%Y-%m-%d, times in %Z"); date != date_) {
        text = fmt::format("{}{}{}\n", faint, date, plain);
        date_ = std::move(date);
    }
    return text + local_text(local, "%H:%M:%S ") + coloured_label(line) +
           escape_control_except_tabs(line.text);
}

}  // namespace det::cli
