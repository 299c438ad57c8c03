#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace det::wrap_rank {

/// A stream of bytes as lines. \n and \r both end one, so that a progress bar is many lines; a line without
/// an end is cut after line_size_max bytes, whatever they are: memory is bounded, and bytes pass untouched.
class LineSplitter {
public:
    static constexpr std::size_t line_size_max = 8191;

    /// Gives each line that has its end to `sink`, a callable taking a string_view without that end.
    template <class Sink>
    void feed(std::string_view bytes, Sink&& sink) {
        while (!bytes.empty()) {
            auto const end = find_end(bytes);
            auto const room = line_size_max - pending_.size();
            if (end > room) {
                give(bytes.substr(0, room), sink);
                bytes.remove_prefix(room);
            } else if (end < bytes.size()) {
                give(bytes.substr(0, end), sink);
                bytes.remove_prefix(end + 1);
            } else {
                pending_ += bytes;
                return;
            }
        }
    }

    /// The last line, if it had no end.
    template <class Sink>
    void finish(Sink&& sink) {
        if (!pending_.empty()) give({}, sink);
    }

private:
    static std::size_t find_end(std::string_view bytes);

    template <class Sink>
    void give(std::string_view rest, Sink&& sink) {
        if (pending_.empty()) {
            sink(rest);
        } else {
            pending_ += rest;
            sink(std::string_view(pending_));
            pending_.clear();
        }
    }

    std::string pending_;
};

}  // namespace det::wrap_rank
