#pragma once
#include <det/protocol/ids.hpp>

#include <chrono>
#include <map>
#include <vector>

namespace det::tracker::ingest {

using TimePoint = std::chrono::steady_clock::time_point;

/// Decides when which experiment is looked at again. One that changes is looked at every second; one that
/// does not, at intervals that double up to a minute; a settled one, in turn with the other settled ones.
/// Pure: times are arguments.
class PollSchedule {
public:
    static constexpr std::chrono::seconds interval_min{1};
    static constexpr std::chrono::seconds interval_max{60};
    static constexpr std::size_t settled_per_poll = 4;

    /// An experiment that is not known yet is due at once.
    void add(ExperimentId id, bool is_settled, TimePoint now);
    void remove(ExperimentId id);
    bool contains(ExperimentId id) const { return unsettled_.contains(id) || settled_.contains(id); }

    /// The experiments to look at now: those that are due and a few settled ones. Call looked_at() for each.
    std::vector<ExperimentId> take_due(TimePoint now);
    void looked_at(ExperimentId id, bool has_changed, bool is_settled, TimePoint now);
    /// A reader wants the newest records of an experiment.
    void make_due(ExperimentId id, TimePoint now);

private:
    struct Unsettled {
        TimePoint due;
        std::chrono::seconds interval;
    };
    std::map<ExperimentId, Unsettled> unsettled_;
    std::map<ExperimentId, bool> settled_;
    ExperimentId last_settled_;  // that was looked at
};

}  // namespace det::tracker::ingest
