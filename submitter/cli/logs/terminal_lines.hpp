#pragma once
#include <string>

#include "logs/log_line.hpp"

namespace det::cli {

/// Formats the log lines of one command as a terminal shows them. Not thread-safe.
class TerminalLines {
public:
    /// \param has_colour whether the terminal shows colours; if not, lines are only escaped
    explicit TerminalLines(bool has_colour) : has_colour_(has_colour) {}

    /// Returns the line, which begins with the time of day in local time and the label in the colour of its
    /// rank. A line with the date and the time zone comes before the first line and where either changes.
    std::string format(LogLine const& line);

private:
    bool has_colour_;
    std::string date_;  // of the line before, with its time zone
};

}  // namespace det::cli
