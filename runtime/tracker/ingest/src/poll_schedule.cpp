#include <det/tracker/ingest/poll_schedule.hpp>

#include <algorithm>

namespace det::tracker::ingest {

void PollSchedule::add(ExperimentId id, bool is_settled, TimePoint now) {
    if (contains(id)) return;
    if (is_settled) {
        settled_.insert(id);
    } else {
        unsettled_[id] = {now, interval_min};
        never_read_.insert(id);
    }
}

TimePoint PollSchedule::next_poll(TimePoint now) const {
    auto next = now + pause_max;
    for (auto const& [id, entry] : unsettled_) next = std::min(next, entry.due);
    return std::max(next, now + interval_min);
}

std::vector<ExperimentId> PollSchedule::list_all() const {
    std::vector<ExperimentId> all(settled_.begin(), settled_.end());
    for (auto const& [id, entry] : unsettled_) all.push_back(id);
    std::ranges::sort(all);
    return all;
}

std::vector<ExperimentId> PollSchedule::take_due(TimePoint now) {
    std::vector<ExperimentId> due;
    for (auto const& [id, entry] : unsettled_)
        if (entry.due <= now) due.push_back(id);
    for (std::size_t i = 0; i < std::min(settled_per_poll, settled_.size()); ++i) {
        auto next = settled_.upper_bound(last_settled_);
        if (next == settled_.end()) next = settled_.begin();
        last_settled_ = *next;
        due.push_back(last_settled_);
    }
    return due;
}

void PollSchedule::mark_polled(ExperimentId id, bool has_changed, bool is_settled, TimePoint now) {
    never_read_.erase(id);
    if (is_settled) {
        unsettled_.erase(id);
        settled_.insert(id);
        return;
    }
    settled_.erase(id);
    auto& entry = unsettled_.try_emplace(id, Unsettled{now, interval_min}).first->second;
    entry.interval = has_changed ? interval_min : std::min(2 * entry.interval, interval_max);
    entry.due = now + entry.interval;
}

}  // namespace det::tracker::ingest
