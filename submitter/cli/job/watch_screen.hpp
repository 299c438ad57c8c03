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
    std::string message;  // the last line: what went wrong, what a key did
    UtcTime read_at;
    double interval_s = 2;
};

/// The jobs that pass the filters.
std::vector<slurm::JobStatus> shown_jobs(WatchView const& view);
/// The number of rows for jobs.
std::size_t rows_for_jobs(ScreenSize size);
/// Makes sure that the selected job exists and is on the screen.
void settle(WatchView& view, ScreenSize size);

/// A screen full of lines, each `size.columns` wide and without control bytes but for the colours of the
/// title and the selected row. Pure.
std::vector<std::string> render_screen(WatchView const& view, ScreenSize size);

}  // namespace det::cli
