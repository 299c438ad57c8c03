#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/document.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <regex.h>
#include <string>
#include <string_view>
#include <vector>

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
    std::size_t offset = 0;  // of its first byte in the node's log
};

/// Splits a line. If the line begins without a time, all of it is text. Pure.
LogLine parse_log_line(std::string_view line);

/// Returns the level at the beginning of the text: "ERROR: [12] trainer: ...", "WARNING:root:...". Returns
/// nothing if the text does not begin with a level.
std::optional<LogLevel> level_of(LogLine const& line);

/// The parts of the line and its level. `message` is its text.
Json to_json(LogLine const& line);

/// Returns 3 for "node-3.log"; nothing for names of another form.
std::optional<int> node_of_log(std::string_view file_name);

/// Parses a time in UTC ("2026-11-21", "2026-11-21T12:00", "...:30.5Z") or a duration before `now` ("90s",
/// "15m", "2h", "3d").
std::optional<UtcTime> parse_moment(std::string_view text, UtcTime now);

/// Selects lines of node logs. Without a condition it selects all lines.
class LogFilter {
public:
    void only_rank(std::uint32_t rank) { only_ranks({rank}); }
    /// Selects the lines of these ranks; without ranks the lines of all.
    void only_ranks(std::vector<std::uint32_t> ranks);
    /// For a trial of one rank, whose lines have no label: if rank 0 is selected, selects lines without a
    /// label too.
    void take_lines_without_label();
    void since(UtcTime time) { since_ = format_utc(time); }
    void until(UtcTime time) { until_ = format_utc(time); }
    void at_least(LogLevel level) { level_ = level; }
    /// Selects lines whose text after time and rank contains a match of the POSIX extended regular
    /// expression.
    Status grep(std::string const& pattern);
    /// The time of since(), as lines have it; empty without one.
    std::string_view since_time() const { return since_; }

    /// Returns false only if matches() would return false. Only compares the rank label, without splitting
    /// the line.
    bool may_match(char const* line, char const* line_end) const {
        if (label_.empty()) return true;
        return static_cast<std::size_t>(line_end - line) >= label_at + label_.size() &&
               std::string_view(line + label_at, label_.size()) == label_;
    }
    bool matches(LogLine const& line) const;

private:
    static constexpr std::size_t label_at = 28;

    std::vector<std::uint32_t> ranks_;  // sorted
    bool takes_lines_without_label_ = false;
    std::string label_;  // "[rank=3] ", or "[rank=" if there are several ranks; empty: lines may have none
    std::string since_, until_;
    std::optional<LogLevel> level_;
    std::shared_ptr<regex_t> pattern_;
};

/// Escapes as escape_control() does (control characters, invalid UTF-8, characters that change the direction
/// of text), but leaves tabs, so that the output of a rank can't control the terminal.
std::string escape_control_except_tabs(std::string_view text);

}  // namespace det::cli
