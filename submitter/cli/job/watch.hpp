// The parts of `job watch`: its state and screen, its keys, the terminal, the event loop.
#pragma once
#include <det/experiment/query_all_jobs.hpp>
#include <det/foundation/clock.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/result.hpp>

#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <termios.h>
#include <variant>
#include <vector>

#include "session.hpp"

namespace det::cli {

struct ScreenSize {
    std::size_t rows = 24, columns = 80;
};

/// The state of `job watch`.
struct WatchView {
    experiment::JobsSnapshot snapshot;  // in scheduling order
    queue::ExperimentJobOwner owner;
    std::optional<std::string> pool, user;  // filters
    std::optional<slurm::JobRef> selected;
    std::size_t top = 0;  // the first row that is on the screen
    bool shows_help = false;
    std::string message;  // shown in the last line: an error or a remark
    UtcTime read_at;
    double interval_s = 2;
};

/// Returns the jobs that pass the filters.
std::vector<slurm::JobStatus> shown_jobs(WatchView const& view);
/// Returns the number of screen rows that show jobs.
std::size_t rows_for_jobs(ScreenSize size);
/// Scrolls so that the selected job is on the screen. If no job is selected, or the selected job has left the
/// queue or does not pass the filters, selects the first job.
void scroll_to_selected(WatchView& view, ScreenSize size);

/// Returns the lines of a full screen, each `size.columns` wide. The only control bytes are the styles of the
/// title and the selected row. Pure.
std::vector<std::string> render_screen(WatchView const& view, ScreenSize size);

enum class Key {
    up,
    down,
    page_up,
    page_down,
    first,
    last,
    pool,
    user,
    logs,
    refresh,
    help,
    quit,
    other,
};

/// Removes whole keys from the front of the input and returns them. An incomplete key stays.
std::vector<Key> take_keys(std::string& typed);

// The action that a key requests from the event loop, in addition to the change of the view.
struct Nothing {};
struct Quit {};
struct Refresh {};
struct FollowLogs {
    std::uint32_t experiment = 0;
};
using Action = std::variant<Nothing, Quit, Refresh, FollowLogs>;

/// Changes the view as the key requests and returns the action for the event loop. Does no I/O.
Action on_key(WatchView& view, Key key, ScreenSize size);

/// The input and signals that arrived while `job watch` waited.
struct TerminalEvent {
    std::string typed;
    bool is_interrupted = false;  // SIGINT, SIGTERM, SIGHUP
    bool is_resized = false;
    bool is_closed = false;  // end of input: the terminal is gone
};

/// The terminal in full-screen mode: reads single keys without echo, draws on the alternate screen and
/// reports signals as events. The destructor restores the terminal and the signal mask.
class WatchTerminal {
public:
    /// Enters full-screen mode. codes::usage if input or output is not a terminal.
    static Result<WatchTerminal> open(int input_fd, int output_fd);

    WatchTerminal(WatchTerminal&& other) noexcept;
    WatchTerminal& operator=(WatchTerminal&&) = delete;
    ~WatchTerminal();

    ScreenSize size() const;
    void draw(std::vector<std::string> const& lines) const;
    TerminalEvent wait(std::chrono::milliseconds timeout) const;
    /// leave() restores the terminal, for example for a child process; enter() enters full-screen mode again.
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

using FollowFunction = std::function<Status(std::uint32_t experiment)>;

/// Shows the queue until a key or a signal ends it. Shows errors in the last line of the screen.
ExitCode watch_jobs(WatchView view, WatchTerminal& terminal, Session& session, FollowFunction const& follow);

}  // namespace det::cli
