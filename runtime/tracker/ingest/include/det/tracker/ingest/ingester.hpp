#pragma once
#include <det/tracker/index/database.hpp>
#include <det/tracker/ingest/change_times.hpp>
#include <det/tracker/ingest/experiment_follower.hpp>
#include <det/tracker/ingest/poll_schedule.hpp>

#include <map>
#include <memory>
#include <set>

namespace det::tracker::ingest {

/// Keeps an index up to date with the journals below a root. The only writer of its index. Not thread-safe.
class Ingester {
public:
    /// \param change_times when the settled experiments of the index changed last
    Ingester(index::Database index, RootLayout root,
             std::shared_ptr<ChangeTimes> change_times = std::make_shared<ChangeTimes>())
        : index_(std::move(index)), root_(std::move(root)), change_times_(std::move(change_times)) {}

    /// Looks for new experiments and reads those that are due. Each experiment is one transaction, so that a
    /// process that is killed at any moment leaves the index as of some transaction.
    /// \return whether the index has changed
    Result<bool> poll(TimePoint now);
    TimePoint next_poll(TimePoint now) const { return schedule_.next_poll(now); }
    /// Reads one experiment now, and all that were never read. If it does not know the experiment, it looks
    /// for new ones first.
    /// \return whether the index has changed
    Result<bool> refresh(ExperimentId id, TimePoint now);
    /// Reads all experiments that can have changed, now.
    /// \return whether the index has changed
    Result<bool> refresh_all(TimePoint now);
    /// Whether the index lacks what was read of an experiment last, because it could not be written. poll()
    /// tries again.
    bool is_behind() const { return !unwritten_.empty(); }
    /// Reads everything that there is, until nothing changes any more.
    Status read_all();

private:
    Status list_new(TimePoint now);
    Result<bool> follow_changed(std::vector<ExperimentId> const& ids, TimePoint now);
    Result<bool> follow(ExperimentId id, TimePoint now);
    Result<FollowResult> follow_in_transaction(ExperimentId id);

    index::Database index_;
    RootLayout root_;
    std::shared_ptr<ChangeTimes> change_times_;
    PollSchedule schedule_;
    bool knows_index_ = false;
    std::map<ExperimentId, ExperimentFollower> followers_;  // of those that are not settled
    std::set<ExperimentId> unwritten_;                      // that the index lacks something of
};

}  // namespace det::tracker::ingest
