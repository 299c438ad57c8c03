#pragma once
#include <string>

#include "logs/log_line.hpp"
#include "session.hpp"

namespace det::cli {

/// Escapes control bytes other than tabs, so that the output of a rank can't control the terminal.
std::string harmless(std::string_view text);

/// Prints log lines: unchanged, escaped for a terminal, or as JSON. Buffers its output.
class LogPrinter {
public:
    explicit LogPrinter(Session& session) : session_(session) {}
    ~LogPrinter() { flush(); }
    LogPrinter(LogPrinter const&) = delete;
    LogPrinter& operator=(LogPrinter const&) = delete;

    void print(LogLine const& line);
    void flush();

private:
    Session& session_;
    std::string text_;
};

}  // namespace det::cli
