#pragma once
#include <det/protocol/ids.hpp>

#include <chrono>
#include <map>
#include <set>
#include <vector>

namespace det::tracker::ingest {

using TimePoint = std::chrono::steady_clock::time_point;

/// Decides when each experiment is read again. An experiment that changes is read every second. An experiment
/// that does not is read at intervals that double up to a minute. Settled experiments are read in turn. Pure:
/// times are arguments.
class PollSchedule {
public:
    static constexpr std::chrono::seconds interval_min{1};
    static constexpr std::chrono::seconds interval_max{60};
    static constexpr std::chrono::seconds pause_max{5};  // between two polls
    static constexpr std::size_t settled_per_poll = 10;

    /// Adds an experiment; does nothing if it is known. An unsettled one is due at once.
    void add(ExperimentId id, bool is_settled, TimePoint now);
    bool contains(ExperimentId id) const { return unsettled_.contains(id) || settled_.contains(id); }

    /// The experiments to look at now: those that are due and a few settled ones. Call mark_polled() for each
    /// that was read; a settled one that has not changed need not be.
    std::vector<ExperimentId> take_due(TimePoint now);
    void mark_polled(ExperimentId id, bool has_changed, bool is_settled, TimePoint now);
    /// When to call take_due() again: in 1 to 5 seconds, the latter if no experiment is due before.
    TimePoint next_poll(TimePoint now) const;
    std::vector<ExperimentId> list_all() const;
    /// The experiments that were added unsettled and not looked at yet.
    std::vector<ExperimentId> list_never_read() const { return {never_read_.begin(), never_read_.end()}; }

private:
    struct Unsettled {
        TimePoint due;
        std::chrono::seconds interval;
    };
    std::map<ExperimentId, Unsettled> unsettled_;
    std::set<ExperimentId> settled_;
    std::set<ExperimentId> never_read_;
    ExperimentId last_settled_;  // that was looked at
};

}  // namespace det::tracker::ingest
