#include "logs/log_window.hpp"

namespace det::cli {

Result<LogWindow> LogWindow::make(std::optional<std::uint32_t> head, std::optional<std::uint32_t> tail) {
    if (head && tail) return Error{codes::usage, "--head and --tail exclude each other", "give one of them"};
    LogWindow window;
    window.head_ = head;
    window.tail_ = tail;
    return window;
}

void LogWindow::keep(LogLine const& line) {
    if (*tail_ == 0) return;
    if (kept_.size() == *tail_) kept_.pop_front();
    kept_.push_back({std::string(line.whole), line.node, line.run});
}

LogLine LogWindow::Kept::line() const {
    auto parsed = parse_log_line(text);
    parsed.node = node;
    parsed.run = run;
    return parsed;
}

}  // namespace det::cli
