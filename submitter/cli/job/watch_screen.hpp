#pragma once
#include <det/foundation/clock.hpp>

#include <optional>
#include <string>
#include <vector>

#include "look_at_jobs.hpp"

namespace det::cli {

struct ScreenSize {
    std::size_t rows = 24, columns = 80;
};

/// What `job watch` shows and has in mind.
struct WatchView {
    JobsSight sight;  // in scheduling order
    queue::JobIdScope naming;
    std::optional<std::string> pool, user;  // filters
    std::optional<slurm::JobRef> selected;
    std::size_t top = 0;  // the first row that is on the screen
    bool shows_help = false;
    std::string message;  // the last line: what went wrong, what a key did
    UtcTime read_at;
    double interval_s = 2;
};

/// Those that pass the filters.
std::vector<slurm::JobStatus> shown_jobs(WatchView const& view);
/// How many rows of jobs have room.
std::size_t rows_for_jobs(ScreenSize size);
/// Selects a job that is there, and puts it on the screen.
void settle(WatchView& view, ScreenSize size);

/// A screen full of lines, each `size.columns` wide and without control bytes but for the colours of the
/// title and the selected row. Pure.
std::vector<std::string> render_screen(WatchView const& view, ScreenSize size);

}  // namespace det::cli
