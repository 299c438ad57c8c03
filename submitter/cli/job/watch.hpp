// The parts of `job watch`: its state and screen, and what its keys do.
#pragma once
#include <det/experiment/query_all_jobs.hpp>
#include <det/foundation/clock.hpp>
#include <det/foundation/result.hpp>
#include <det/queue/job_level.hpp>

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "output/live_screen.hpp"
#include "session.hpp"

namespace det::cli {

/// The state of `job watch`.
struct WatchView {
    experiment::JobsSnapshot snapshot;  // in scheduling order
    queue::ExperimentJobOwner owner;
    queue::PriorityKind priority_kind = queue::PriorityKind::multifactor;
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

using FollowFunction = std::function<Status(std::uint32_t experiment)>;

/// Shows the queue until a key or a signal ends it. Shows errors in the last line of the screen.
ExitCode watch_jobs(WatchView view, ScreenTerminal& terminal, Session& session, FollowFunction const& follow);

}  // namespace det::cli
