#pragma once
#include <deque>
#include <optional>
#include <string>

#include "logs/log_merge.hpp"

namespace det::cli {

/// Prints only the first lines (head) or the last existing lines (tail) of a stream; all lines without
/// either.
class LogWindow {
public:
    /// codes::usage if both head and tail are given.
    static Result<LogWindow> make(std::optional<std::uint32_t> head, std::optional<std::uint32_t> tail);

    template <class Print>
    Go take(LogLine const& line, Print&& print) {
        if (head_) {
            if (*head_ == 0) return Go::stop;
            print(line);
            return --*head_ == 0 ? Go::stop : Go::on;
        }
        if (tail_) {
            keep(line);
        } else {
            print(line);
        }
        return Go::on;
    }

    /// Prints the kept last lines. The caller calls it after all existing lines were read. Later lines are
    /// printed at once.
    template <class Print>
    void finish(Print&& print) {
        for (auto const& kept : kept_) print(kept.line());
        kept_.clear();
        tail_.reset();
    }

private:
    struct Kept {
        std::string text;
        int node;
        std::uint32_t run;
        LogLine line() const;
    };
    void keep(LogLine const& line);

    std::optional<std::uint32_t> head_, tail_;
    std::deque<Kept> kept_;
};

}  // namespace det::cli
