#pragma once
#include <det/experiment/query_jobs.hpp>
#include <det/foundation/clock.hpp>

#include <optional>
#include <string>
#include <vector>

namespace det::cli {

struct ScreenSize {
    std::size_t rows = 24, columns = 80;
};

/// The state of `job watch`.
struct WatchView {
    experiment::JobsSnapshot snapshot;  // in scheduling order
    queue::JobIdScope naming;
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
/// Scrolls so that the selected job is on the screen. Selects the first job if the selected one is not shown
/// any more.
void settle(WatchView& view, ScreenSize size);

/// Returns the lines of a full screen, each `size.columns` wide. The only control bytes are the styles of the
/// title and the selected row. Pure.
std::vector<std::string> render_screen(WatchView const& view, ScreenSize size);

}  // namespace det::cli
