#pragma once
#include <det/foundation/clock.hpp>
#include <det/launch/wrap_rank/line_splitter.hpp>

#include <string>
#include <string_view>

namespace det::launch::wrap_rank {

/// The lines of a stream as a log keeps them: a progress bar, which repaints its line behind carriage
/// returns, becomes its last state. One that goes on for long is logged now and then, so that who follows the
/// log sees it move.
class BarStates {
public:
    static constexpr std::int64_t shown_every_us = 30'000'000;

    /// Gives what belongs into the log to `sink`, a callable taking a string_view.
    template <class Sink>
    void take(std::string_view line, LineEnd end, UtcTime now, Sink&& sink) {
        if (end == LineEnd::carriage_return) {
            hold(line, now, sink);
            return;
        }
        // "\r\n" ends the line before the \r: there is nothing new in it.
        bool const repeats = line.empty() && (!held_.empty() || was_shown_);
        if (!repeats) {
            sink(line);
        } else if (!held_.empty()) {
            sink(std::string_view(held_));
        }
        in_bar_ = was_shown_ = false;
        held_.clear();
    }

    /// The last state of a bar whose line never ended.
    template <class Sink>
    void finish(Sink&& sink) {
        if (!held_.empty()) sink(std::string_view(held_));
        held_.clear();
    }

private:
    template <class Sink>
    void hold(std::string_view state, UtcTime now, Sink&& sink) {
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

    bool in_bar_ = false;     // a \r came and no \n since
    bool was_shown_ = false;  // one of its states is logged
    std::string held_;        // the bar's state, as long as it is not logged
    UtcTime shown_at_;
};

}  // namespace det::launch::wrap_rank
