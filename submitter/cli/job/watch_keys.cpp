#include <algorithm>

#include "job/watch.hpp"

namespace det::cli {
namespace {

/// Returns the value after the current one. After the last value comes nullopt, which means "all".
std::optional<std::string> next_of(std::vector<std::string> const& values,
                                   std::optional<std::string> const& current) {
    if (!current) return values.empty() ? std::nullopt : std::optional(values.front());
    auto const found = std::find(values.begin(), values.end(), *current);
    if (found == values.end() || found + 1 == values.end()) return std::nullopt;
    return *(found + 1);
}

std::vector<std::string> distinct(WatchView const& view, std::string slurm::JobStatus::*member) {
    std::vector<std::string> values;
    for (auto const& job : view.snapshot.queue.jobs) values.push_back(job.*member);
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

std::vector<std::string> users_of(WatchView const& view) {
    auto users = distinct(view, &slurm::JobStatus::user);
    std::erase(users, view.owner.user);
    users.insert(users.begin(), view.owner.user);
    return users;
}

void select_by(WatchView& view, std::ptrdiff_t step) {
    auto const jobs = shown_jobs(view);
    if (jobs.empty()) return;
    auto const found =
        std::find_if(jobs.begin(), jobs.end(), [&](auto const& job) { return view.selected == job.ref; });
    auto const at = found == jobs.end() ? 0 : found - jobs.begin();
    auto const last = static_cast<std::ptrdiff_t>(jobs.size()) - 1;
    view.selected = jobs[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(at + step, 0, last))].ref;
}

Action follow_selected(WatchView& view) {
    for (auto const& job : view.snapshot.queue.jobs) {
        if (view.selected != job.ref) continue;
        if (auto const experiment = queue::experiment_of(job, view.owner)) return FollowLogs{*experiment};
        view.message = "there are logs of your own experiments only";
    }
    return Nothing{};
}

}  // namespace

Action on_key(WatchView& view, Key key, ScreenSize size) {
    constexpr auto everything = std::ptrdiff_t{1} << 30;
    auto const page = static_cast<std::ptrdiff_t>(std::max<std::size_t>(rows_for_jobs(size), 1));
    view.message.clear();
    if (view.shows_help && key != Key::quit) {
        view.shows_help = false;
        return Nothing{};
    }
    Action action = Nothing{};
    switch (key) {
        case Key::up:
            select_by(view, -1);
            break;
        case Key::down:
            select_by(view, 1);
            break;
        case Key::page_up:
            select_by(view, -page);
            break;
        case Key::page_down:
            select_by(view, page);
            break;
        case Key::first:
            select_by(view, -everything);
            break;
        case Key::last:
            select_by(view, everything);
            break;
        case Key::pool:
            view.pool = next_of(distinct(view, &slurm::JobStatus::partition), view.pool);
            break;
        case Key::user:
            view.user = next_of(users_of(view), view.user);
            break;
        case Key::logs:
            action = follow_selected(view);
            break;
        case Key::refresh:
            action = Refresh{};
            break;
        case Key::help:
            view.shows_help = true;
            break;
        case Key::quit:
            return Quit{};
        case Key::other:
            break;
    }
    scroll_to_selected(view, size);
    return action;
}

}  // namespace det::cli
