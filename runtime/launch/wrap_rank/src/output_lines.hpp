#pragma once
#include <det/foundation/clock.hpp>

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace det::launch::wrap_rank {

/// The terminator of a line.
enum class LineEnd {
    newline,
    carriage_return,  // the next line replaces it on a terminal
    none,             // the line was cut because it is too long, or the stream has ended
};

/// Splits a stream of bytes into lines. `\n` and `\r` both end a line, so that a progress bar is many lines.
/// A line without terminator is cut after line_size_max bytes, which bounds the memory. Bytes are not
/// changed.
class LineSplitter {
public:
    static constexpr std::size_t line_size_max = 8191;

    /// Calls sink(line, end) for each complete line; the string_view does not contain the terminator.
    template <class Sink>
    void feed(std::string_view bytes, Sink&& sink) {
        Search newline('\n'), carriage_return('\r');
        char const* at = bytes.data();
        char const* const end = at + bytes.size();
        while (at != end) {
            char const* const next_newline = newline.from(at, end);
            char const* const next_return = carriage_return.from(at, end);
            char const* const stop = next_newline < next_return ? next_newline : next_return;
            auto const size = static_cast<std::size_t>(stop - at);
            auto const room = line_size_max - pending_.size();
            if (size > room) {
                give({at, room}, LineEnd::none, sink);
                at += room;
            } else if (stop != end) {
                give({at, size}, stop == next_newline ? LineEnd::newline : LineEnd::carriage_return, sink);
                at = stop + 1;
            } else {
                pending_.append(at, size);
                return;
            }
        }
    }

    /// Passes on the last line if it had no terminator.
    template <class Sink>
    void finish(Sink&& sink) {
        if (!pending_.empty()) give({}, LineEnd::none, sink);
    }

    /// The beginning of a line whose end has not been fed.
    std::string_view pending() const { return pending_; }

private:
    /// Finds the next position of a byte. Each byte of the stream is searched once, however many lines there
    /// are.
    class Search {
    public:
        explicit Search(char byte) : byte_(byte) {}
        char const* from(char const* at, char const* end) {
            if (found_ == nullptr || found_ < at) {
                auto const* const hit = std::memchr(at, byte_, static_cast<std::size_t>(end - at));
                found_ = hit == nullptr ? end : static_cast<char const*>(hit);
            }
            return found_;
        }

    private:
        char byte_;
        char const* found_ = nullptr;
    };

    template <class Sink>
    void give(std::string_view rest, LineEnd end, Sink&& sink) {
        if (pending_.empty()) {
            sink(rest, end);
        } else {
            pending_ += rest;
            sink(std::string_view(pending_), end);
            pending_.clear();
        }
    }

    std::string pending_;
};

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
    bool was_shown_ = false;  // one of the bar's states has been logged
    std::string held_;        // the bar's state that is not logged yet
    UtcTime shown_at_;
};

}  // namespace det::launch::wrap_rank
