#include <det/tracker/ingest/poll_schedule.hpp>

#include <algorithm>

namespace det::tracker::ingest {

void PollSchedule::add(ExperimentId id, bool is_settled, TimePoint now) {
    if (contains(id)) return;
    if (is_settled) {
        settled_[id] = true;
    } else {
        unsettled_[id] = {now, interval_min};
    }
}

void PollSchedule::remove(ExperimentId id) {
    unsettled_.erase(id);
    settled_.erase(id);
}

std::vector<ExperimentId> PollSchedule::take_due(TimePoint now) {
    std::vector<ExperimentId> due;
    for (auto const& [id, entry] : unsettled_)
        if (entry.due <= now) due.push_back(id);
    for (std::size_t i = 0; i < std::min(settled_per_poll, settled_.size()); ++i) {
        auto next = settled_.upper_bound(last_settled_);
        if (next == settled_.end()) next = settled_.begin();
        last_settled_ = next->first;
        due.push_back(last_settled_);
    }
    return due;
}

void PollSchedule::looked_at(ExperimentId id, bool has_changed, bool is_settled, TimePoint now) {
    if (is_settled) {
        unsettled_.erase(id);
        settled_[id] = true;
        return;
    }
    settled_.erase(id);
    auto& entry = unsettled_.try_emplace(id, Unsettled{now, interval_min}).first->second;
    entry.interval = has_changed ? interval_min : std::min(2 * entry.interval, interval_max);
    entry.due = now + entry.interval;
}

void PollSchedule::make_due(ExperimentId id, TimePoint now) {
    if (settled_.erase(id) > 0) unsettled_[id] = {now, interval_min};
    if (auto const found = unsettled_.find(id); found != unsettled_.end()) found->second.due = now;
}

}  // namespace det::tracker::ingest
