#pragma once
#include <string>

#include "logs/log_line.hpp"
#include "logs/terminal_lines.hpp"
#include "session.hpp"

namespace det::cli {

/// Prints log lines: unchanged, as a terminal shows them (TerminalLines), or as JSON. Buffers its output.
class LogPrinter {
public:
    explicit LogPrinter(Session& session);
    ~LogPrinter() { flush(); }
    LogPrinter(LogPrinter const&) = delete;
    LogPrinter& operator=(LogPrinter const&) = delete;

    void print(LogLine const& line);
    void flush();

private:
    Session& session_;
    TerminalLines terminal_lines_;
    std::string text_;
};

}  // namespace det::cli
