#include "output/screen_terminal.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <utility>

namespace det::cli {
namespace {

// enter_screen switches to the alternate screen and hides the cursor. leave_screen restores both.
constexpr std::string_view enter_screen = "\x1b[?1049h\x1b[?25l", leave_screen = "\x1b[?25h\x1b[?1049l";
constexpr std::string_view home = "\x1b[H", next_line = "\r\n";

sigset_t signals_of_interest() {
    sigset_t set;
    ::sigemptyset(&set);
    for (int const number : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) ::sigaddset(&set, number);
    return set;
}

}  // namespace

Result<ScreenTerminal> ScreenTerminal::open(int input_fd, int output_fd, std::string_view command,
                                            std::string_view hint) {
    if (::isatty(input_fd) != 1 || ::isatty(output_fd) != 1)
        return Error{codes::usage, fmt::format("'{}' needs a terminal", command), std::string(hint)};
    ScreenTerminal terminal(input_fd, output_fd);
    DET_TRY(terminal.enter());
    return terminal;
}

ScreenTerminal::ScreenTerminal(ScreenTerminal&& other) noexcept
    : input_fd_(other.input_fd_),
      output_fd_(other.output_fd_),
      is_entered_(std::exchange(other.is_entered_, false)),
      before_(other.before_),
      mask_before_(other.mask_before_),
      signals_(std::move(other.signals_)) {}

ScreenTerminal::~ScreenTerminal() { leave(); }

Status ScreenTerminal::enter() {
    if (::tcgetattr(input_fd_, &before_) != 0) return os_error("read the terminal's settings", errno);
    auto const set = signals_of_interest();
    ::sigprocmask(SIG_BLOCK, &set, &mask_before_);
    signals_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    is_entered_ = true;
    auto raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_iflag &= ~static_cast<tcflag_t>(IXON);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    raw.c_cc[VSUSP] = _POSIX_VDISABLE;  // after Ctrl-Z the shell would use the alternate screen
    if (::tcsetattr(input_fd_, TCSAFLUSH, &raw) != 0)
        return os_error("change the terminal's settings", errno);
    return write_all(output_fd_, enter_screen, "the terminal");
}

void ScreenTerminal::leave() {
    if (!std::exchange(is_entered_, false)) return;
    (void)write_all(output_fd_, leave_screen, "the terminal");
    ::tcsetattr(input_fd_, TCSAFLUSH, &before_);
    signals_ = UniqueFd();
    ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

ScreenSize ScreenTerminal::size() const {
    winsize window{};
    if (::ioctl(output_fd_, TIOCGWINSZ, &window) != 0 || window.ws_row == 0 || window.ws_col == 0) return {};
    return {window.ws_row, window.ws_col};
}

void ScreenTerminal::draw(std::vector<std::string> const& lines) const {
    std::string text(home);
    for (std::size_t i = 0; i < lines.size(); ++i) text += (i > 0 ? std::string(next_line) : "") + lines[i];
    (void)write_all(output_fd_, text, "the terminal");
}

TerminalEvent ScreenTerminal::wait(std::chrono::milliseconds timeout) const {
    pollfd waited[] = {{input_fd_, POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    TerminalEvent event;
    if (::poll(waited, std::size(waited), static_cast<int>(timeout.count())) <= 0) return event;
    signalfd_siginfo signal{};
    while (::read(signals_.get(), &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) {
        (signal.ssi_signo == SIGWINCH ? event.is_resized : event.is_interrupted) = true;
    }
    if (waited[0].revents != 0) {
        char buffer[64];
        auto const count = ::read(input_fd_, buffer, sizeof buffer);
        if (count > 0) event.typed.assign(buffer, static_cast<std::size_t>(count));
        event.is_closed = count <= 0;
    }
    return event;
}

}  // namespace det::cli
