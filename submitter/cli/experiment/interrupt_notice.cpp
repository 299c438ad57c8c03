#include "experiment/interrupt_notice.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/start_thread.hpp>

#include <csignal>
#include <cstdint>
#include <iterator>
#include <poll.h>
#include <sys/eventfd.h>
#include <termios.h>
#include <unistd.h>

#include "experiment/live_line.hpp"
#include "output/output_style.hpp"

namespace det::cli {
namespace {

/// Waits until the terminal has discarded what is on its way to the screen, which it does after it has sent
/// SIGINT: what is written before would be lost (once in some hundred times, measured with Linux 6.18). The
/// terminal holds the lock of its settings until then, so reading these waits for it.
void wait_for_flush() {
    termios settings{};
    (void)::tcgetattr(STDERR_FILENO, &settings);
}

/// Ends the process as SIGINT does by default, so that a shell sees why it ended.
void end_by_interrupt() {
    ::signal(SIGINT, SIG_DFL);
    auto const interrupt = signal_set({SIGINT});
    ::pthread_sigmask(SIG_UNBLOCK, &interrupt, nullptr);
    ::raise(SIGINT);
}

}  // namespace

InterruptNotice::InterruptNotice(ExperimentId id, std::string const& command, Session const& session) {
    struct sigaction present {};
    ::sigaction(SIGINT, nullptr, &present);
    if (present.sa_handler == SIG_IGN) return;  // as in a command that a script has put into the background
    auto signals = SignalReader::open(signal_set({SIGINT}));
    stop_ = UniqueFd(::eventfd(0, EFD_CLOEXEC));
    // Without these two, Ctrl-C ends the process without the text.
    if (!signals || !stop_) return;
    signals_.emplace(*std::move(signals));
    bool const is_live = session.style.colour == Colour::always;
    auto const text = std::string(is_live ? erase_line : "") + interrupt_text(id, command) + "\n";
    thread_ = start_thread("interrupt", [this, text](std::stop_token const&) {
        pollfd waited[] = {{signals_->fd(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
        while (::poll(waited, std::size(waited), -1) < 0) {
        }
        if (waited[0].revents == 0) return;
        wait_for_flush();
        (void)write_all(STDERR_FILENO, text, "the terminal");
        end_by_interrupt();
    });
}

InterruptNotice::~InterruptNotice() {
    if (!thread_.joinable()) return;
    std::uint64_t const one = 1;
    (void)!::write(stop_.get(), &one, sizeof one);
    thread_.join();
}

}  // namespace det::cli
