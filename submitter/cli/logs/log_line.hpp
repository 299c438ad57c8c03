#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace det::cli {

/// The levels of Python's logging.
enum class LogLevel { trace, debug, info, warning, error, critical };

std::string_view to_string(LogLevel level);
/// Parses a level, ignoring case. Also accepts "warn" and "fatal".
std::optional<LogLevel> parse_log_level(std::string_view text);

/// The parts of a line of a node's log, "<time> [rank=N] text", as views into the line.
struct LogLine {
    std::string_view whole;
    std::string_view time;              // has a fixed width: sorts as text
    std::optional<std::uint32_t> rank;  // nothing: printed by the launcher
    std::string_view text;
    int node = 0;
    std::uint32_t run = 0;
};

/// Splits a line. If the line begins without a time, all of it is text. Pure.
LogLine parse_log_line(std::string_view line);

/// Returns the level at the beginning of the text: "ERROR: [12] trainer: ...", "WARNING:root:...". Returns
/// nothing if the text does not begin with a level.
std::optional<LogLevel> level_of(LogLine const& line);

/// Returns 3 for "node-3.log"; nothing for names of another form.
std::optional<int> node_of_log(std::string_view file_name);

}  // namespace det::cli
