#include "logs/log_printer.hpp"

#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <ostream>

namespace det::cli {
namespace {

constexpr std::size_t text_size_max = std::size_t{64} << 10;

Json to_json(LogLine const& line) {
    auto const level = level_of(line);
    return {{"run", line.run},
            {"node", line.node},
            {"rank", line.rank ? Json(*line.rank) : Json(nullptr)},
            {"time", line.time},
            {"level", level ? Json(to_string(*level)) : Json(nullptr)},
            {"message", line.text}};
}

}  // namespace

std::string harmless(std::string_view text) {
    std::string out;
    for (bool first = true; auto const part : split(text, '\t')) {
        if (!first) out += '\t';
        out += escape_control(part);
        first = false;
    }
    return out;
}

void LogPrinter::print(LogLine const& line) {
    if (session_.wants_json()) {
        text_ += to_line(to_json(line));
    } else if (session_.destination == Destination::terminal) {
        text_ += harmless(line.whole);
    } else {
        text_ += line.whole;
    }
    text_ += '\n';
    if (text_.size() >= text_size_max) flush();
}

void LogPrinter::flush() {
    session_.out.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    session_.out.flush();
    text_.clear();
}

}  // namespace det::cli
