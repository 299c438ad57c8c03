#pragma once
#include <string>

#include "logs/log_line.hpp"
#include "session.hpp"

namespace det::cli {

/// As terminals may see it: control bytes other than tabs are written out, so that what a rank prints can't
/// drive the terminal of who looks.
std::string harmless(std::string_view text);

/// Writes lines of logs as the session wants them: as they are, harmless, or as JSON. Collects before it
/// writes.
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
