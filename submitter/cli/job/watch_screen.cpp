#include <det/foundation/local_time.hpp>
#include <det/foundation/text.hpp>
#include <det/queue/explain_reason.hpp>
#include <det/queue/job_level.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "job/watch.hpp"
#include "output/output_style.hpp"
#include "output/table.hpp"

namespace det::cli {
namespace {

using slurm::JobStatus;

constexpr std::size_t lines_around_jobs = 3;  // title, header, message
constexpr std::string_view keys_line = "q quit  j/k select  p pool  u user  l logs  ? help";

constexpr std::string_view help_lines[] = {
    "up, down, k, j      select a job",
    "page up, page down  a screen further",
    "g, G                the first, the last job",
    "p                   next pool, then all",
    "u                   next user (you first), then all",
    "l, enter            follow the logs of the selected experiment",
    "r                   read the queue now",
    "?                   this; any key leaves it",
    "q, Ctrl-C           quit",
};

struct Column {
    std::string_view title;
    std::size_t width;  // 0: the rest of the line
    std::string (*text)(JobStatus const&, WatchView const&);
};

std::string slots_text(JobStatus const& job, WatchView const& view) {
    auto const slots = experiment::slots_of(job, view.snapshot.site);
    return fmt::format("{}/{}", queue::has_nodes(job) ? slots : 0, slots);
}

std::string state_text(JobStatus const& job, WatchView const&) {
    if (!queue::has_nodes(job)) return queue::explain_reason(job.reason);
    return to_lower(job.state_text);
}

constexpr Column watch_columns[] = {
    {"ID", 12, [](JobStatus const& job, WatchView const&) { return to_string(job.ref); }},
    {"Job Name", 20, [](JobStatus const& job, WatchView const&) { return job.name; }},
    {"Pool", 10, [](JobStatus const& job, WatchView const&) { return job.partition; }},
    {"User", 10, [](JobStatus const& job, WatchView const&) { return job.user; }},
    {"Slots", 8, slots_text},
    {"Priority", 10,
     [](JobStatus const& job, WatchView const& view) {
         return std::to_string(queue::level_of(job, view.priority_kind));
     }},
    {"State", 0, state_text},
};

std::string job_line(JobStatus const& job, WatchView const& view) {
    std::string line;
    for (auto const& column : watch_columns) {
        auto const text = escape_control(column.text(job, view));
        line += column.width == 0 ? text : fit_to_width(text, column.width) + " ";
    }
    return line;
}

std::string header_line() {
    std::string line;
    for (auto const& column : watch_columns)
        line +=
            column.width == 0 ? std::string(column.title) : fit_to_width(column.title, column.width) + " ";
    return line;
}

std::string title_line(WatchView const& view, std::vector<JobStatus> const& jobs) {
    auto const waiting = std::count_if(jobs.begin(), jobs.end(), queue::is_waiting);
    auto const with_nodes = std::count_if(jobs.begin(), jobs.end(), queue::has_nodes);
    return fmt::format("{}  {} with nodes, {} waiting  pool: {}  user: {}  every {} s",
                       format_local(view.read_at, "%H:%M:%S"), with_nodes, waiting,
                       escape_control(view.pool.value_or("all")), escape_control(view.user.value_or("all")),
                       view.interval_s);
}

}  // namespace

std::vector<JobStatus> shown_jobs(WatchView const& view) {
    std::vector<JobStatus> jobs;
    for (auto const& job : view.snapshot.queue.jobs) {
        if (view.pool && job.partition != *view.pool) continue;
        if (view.user && job.user != *view.user) continue;
        jobs.push_back(job);
    }
    return jobs;
}

std::size_t rows_for_jobs(ScreenSize size) {
    return size.rows > lines_around_jobs ? size.rows - lines_around_jobs : 0;
}

void scroll_to_selected(WatchView& view, ScreenSize size) {
    auto const jobs = shown_jobs(view);
    auto const rows = std::max<std::size_t>(rows_for_jobs(size), 1);
    auto const found =
        std::find_if(jobs.begin(), jobs.end(), [&](auto const& job) { return view.selected == job.ref; });
    if (found == jobs.end()) {
        view.selected = jobs.empty() ? std::nullopt : std::optional(jobs.front().ref);
        view.top = 0;
        return;
    }
    auto const at = static_cast<std::size_t>(found - jobs.begin());
    auto const last_top = jobs.size() > rows ? jobs.size() - rows : 0;
    view.top = std::min(view.top, last_top);
    view.top = std::clamp(view.top, at + 1 > rows ? at + 1 - rows : 0, at);
}

std::vector<std::string> render_screen(WatchView const& view, ScreenSize size) {
    auto const jobs = shown_jobs(view);
    std::vector<std::string> lines;
    auto const add = [&](std::string_view text, std::string_view style = "") {
        auto const line = fit_to_width(text, size.columns);
        lines.push_back(style.empty() ? line : fmt::format("{}{}{}", style, line, plain_style));
    };
    add(title_line(view, jobs), bold_style);
    if (view.shows_help) {
        for (auto const help : help_lines) add(help);
    } else {
        add(header_line());
        auto const end = std::min(jobs.size(), view.top + rows_for_jobs(size));
        for (auto i = view.top; i < end; ++i)
            add(job_line(jobs[i], view), view.selected == jobs[i].ref ? reversed_style : "");
        if (jobs.empty()) add("no jobs");
    }
    while (lines.size() + 1 < size.rows) add("");
    lines.resize(std::max<std::size_t>(size.rows, 1) - 1);
    add(view.message.empty() ? std::string(keys_line) : escape_control(view.message));
    return lines;
}

}  // namespace det::cli
