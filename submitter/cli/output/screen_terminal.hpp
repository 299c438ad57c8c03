#pragma once
#include <det/foundation/files.hpp>
#include <det/foundation/result.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>
#include <string_view>
#include <termios.h>
#include <vector>

namespace det::cli {

struct ScreenSize {
    std::size_t rows = 24, columns = 80;
};

/// The input and signals that arrived while a command with a full screen waited.
struct TerminalEvent {
    std::string typed;
    bool is_interrupted = false;  // SIGINT, SIGTERM, SIGHUP
    bool is_resized = false;
    bool is_closed = false;  // end of input: the terminal is gone
};

/// The terminal in full-screen mode: reads single keys without echo, draws on the alternate screen and
/// reports signals as events. The destructor restores the terminal and the signal mask.
class ScreenTerminal {
public:
    /// Enters full-screen mode. codes::usage if input or output is not a terminal.
    /// \param command that needs the terminal: "job watch"
    /// \param hint what to use without a terminal
    static Result<ScreenTerminal> open(int input_fd, int output_fd, std::string_view command,
                                       std::string_view hint);

    ScreenTerminal(ScreenTerminal&& other) noexcept;
    ScreenTerminal& operator=(ScreenTerminal&&) = delete;
    ~ScreenTerminal();

    ScreenSize size() const;
    void draw(std::vector<std::string> const& lines) const;
    TerminalEvent wait(std::chrono::milliseconds timeout) const;
    /// leave() restores the terminal, for example for a child process; enter() enters full-screen mode again.
    void leave();
    Status enter();

private:
    ScreenTerminal(int input_fd, int output_fd) : input_fd_(input_fd), output_fd_(output_fd) {}

    int input_fd_ = -1, output_fd_ = -1;
    bool is_entered_ = false;
    termios before_{};
    sigset_t mask_before_{};
    UniqueFd signals_;
};

}  // namespace det::cli
