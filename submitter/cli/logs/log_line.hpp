#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace det::cli {

/// The levels of Python's logging.
enum class LogLevel { trace, debug, info, warning, error, critical };

std::string_view to_string(LogLevel level);
/// "warning", "WARNING", "warn".
std::optional<LogLevel> parse_log_level(std::string_view text);

/// A line of a node's log, "<time> [rank=N] text"; views into it.
struct LogLine {
    std::string_view whole;
    std::string_view time;              // always of one width: it sorts as text
    std::optional<std::uint32_t> rank;  // nothing: a launcher's own words
    std::string_view text;
    int node = 0;
    std::uint32_t run = 0;
};

/// Splits a line. A line without a time is all text. Pure.
LogLine parse_log_line(std::string_view line);

/// The level at the beginning of the text: "ERROR: [12] trainer: ...", "WARNING:root:..."; nothing if it
/// names none.
std::optional<LogLevel> level_of(LogLine const& line);

/// 3 of "node-3.log"; nothing for other names.
std::optional<int> node_of_log(std::string_view file_name);

}  // namespace det::cli
