#pragma once
#include <det/foundation/clock.hpp>
#include <det/launch/wrap_rank/line_splitter.hpp>

#include <string>
#include <string_view>

namespace det::launch::wrap_rank {

/// Shortens progress bars for a log. A bar repaints its line after carriage returns; only its last state is
/// logged. A bar that runs for long is also logged every 30 s, so that a reader of the log sees it advance.
class ProgressBars {
public:
    static constexpr std::int64_t shown_every_us = 30'000'000;

    /// Calls sink(string_view) for each line to log.
    template <class Sink>
    void take(std::string_view line, LineEnd end, UtcTime now, Sink&& sink) {
        if (end == LineEnd::carriage_return) {
            hold_state(line, now, sink);
            return;
        }
        // For "\r\n" the line has ended at the \r: the \n adds nothing.
        bool const repeats = line.empty() && (!held_.empty() || was_shown_);
        if (!repeats) {
            sink(line);
        } else if (!held_.empty()) {
            sink(std::string_view(held_));
        }
        in_bar_ = was_shown_ = false;
        held_.clear();
    }

    /// Logs the last state of a bar whose line has not ended.
    template <class Sink>
    void finish(Sink&& sink) {
        if (!held_.empty()) sink(std::string_view(held_));
        held_.clear();
    }

private:
    template <class Sink>
    void hold_state(std::string_view state, UtcTime now, Sink&& sink) {
        if (!in_bar_) shown_at_ = now;
        in_bar_ = true;
        if (state.empty()) return;
        held_ = state;
        if (now.microseconds - shown_at_.microseconds < shown_every_us) return;
        sink(std::string_view(held_));
        held_.clear();
        was_shown_ = true;
        shown_at_ = now;
    }

    bool in_bar_ = false;     // a \r has been read, and no \n after it
    bool was_shown_ = false;  // one of its states is logged
    std::string held_;        // the bar's state that is not logged yet
    UtcTime shown_at_;
};

}  // namespace det::launch::wrap_rank
