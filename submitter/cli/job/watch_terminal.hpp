#pragma once
#include <det/foundation/files.hpp>
#include <det/foundation/result.hpp>

#include <chrono>
#include <csignal>
#include <string>
#include <termios.h>
#include <vector>

#include "job/watch_screen.hpp"

namespace det::cli {

/// Something that happened while `job watch` waited.
struct TerminalEvent {
    std::string typed;
    bool is_interrupted = false;  // SIGINT, SIGTERM, SIGHUP
    bool is_resized = false;
    bool is_closed = false;  // nobody types any more
};

/// The terminal, given over to a screen: keys come one by one, lines are drawn in place on a screen of their
/// own, signals are events. All is as it was once this is gone.
class WatchTerminal {
public:
    /// codes::usage where input or output are no terminal.
    static Result<WatchTerminal> open(int input_fd, int output_fd);

    WatchTerminal(WatchTerminal&& other) noexcept;
    WatchTerminal& operator=(WatchTerminal&&) = delete;
    ~WatchTerminal();

    ScreenSize size() const;
    void draw(std::vector<std::string> const& lines) const;
    TerminalEvent wait(std::chrono::milliseconds timeout) const;
    /// Gives the terminal back for a while, and takes it again.
    void leave();
    Status enter();

private:
    WatchTerminal(int input_fd, int output_fd) : input_fd_(input_fd), output_fd_(output_fd) {}

    int input_fd_ = -1, output_fd_ = -1;
    bool is_entered_ = false;
    termios before_{};
    sigset_t mask_before_{};
    UniqueFd signals_;
};

}  // namespace det::cli
