#include "logs/log_printer.hpp"

#include <ostream>

#include "output/json_text.hpp"
#include "output/output_style.hpp"

namespace det::cli {
namespace {

constexpr std::size_t buffered_text_max = std::size_t{64} << 10;

}  // namespace

LogPrinter::LogPrinter(Session& session)
    : session_(session),
      terminal_lines_(output_style_of(session.environment, session.destination).has_colour) {}

void LogPrinter::print(LogLine const& line) {
    if (session_.wants_json()) {
        text_ += json_text(to_json(line));
    } else if (session_.destination == Destination::terminal) {
        text_ += terminal_lines_.format(line);
    } else {
        text_ += line.whole;
    }
    text_ += '\n';
    if (text_.size() >= buffered_text_max) flush();
}

void LogPrinter::flush() {
    session_.out.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    session_.out.flush();
    text_.clear();
}

}  // namespace det::cli
