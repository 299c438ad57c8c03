#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/result.hpp>

#include <memory>
#include <regex.h>
#include <string>

#include "logs/log_line.hpp"

namespace det::cli {

/// Parses a time in UTC ("2026-11-21", "2026-11-21T12:00", "...:30.5Z") or the time since then ("90s", "15m",
/// "2h", "3d").
std::optional<UtcTime> parse_moment(std::string_view text, UtcTime now);

/// Selects lines of node logs. Without a condition it selects all lines.
class LogFilter {
public:
    void only_rank(std::uint32_t rank);
    void since(UtcTime time) { since_ = format_utc(time); }
    void until(UtcTime time) { until_ = format_utc(time); }
    void at_least(LogLevel level) { level_ = level; }
    /// Selects lines whose text after time and rank contains a match of the POSIX extended regular
    /// expression.
    Status grep(std::string const& pattern);

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

    std::optional<std::uint32_t> rank_;
    std::string label_;  // "[rank=3] "
    std::string since_, until_;
    std::optional<LogLevel> level_;
    std::shared_ptr<regex_t> pattern_;
};

}  // namespace det::cli
