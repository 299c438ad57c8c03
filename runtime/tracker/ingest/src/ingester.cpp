#include <det/foundation/list_numeric_names.hpp>
#include <det/tracker/index/tables.hpp>
#include <det/tracker/ingest/ingester.hpp>

namespace det::tracker::ingest {

/// Adds the experiments of the index and of the root to the schedule, with one listing of a directory. A
/// deleted experiment still has a directory; its follower removes it from the index.
Status Ingester::list_new(TimePoint now) {
    if (!knows_index_) {
        DET_TRY(index_.for_each("SELECT experiment, is_settled, changed_ns FROM experiments",
                                [&](index::Row const& row) {
                                    ExperimentId const id{static_cast<std::uint32_t>(row.integer(0))};
                                    bool const is_settled = row.integer(1) != 0;
                                    schedule_.add(id, is_settled, now);
                                    if (is_settled) change_times_->set(id, row.integer(2));
                                }));
        knows_index_ = true;
    }
    DET_TRY_ASSIGN(auto const numbers, list_numeric_names(root_.experiments()));
    for (auto const number : numbers)
        if (number != 0) schedule_.add({number}, false, now);
    return Ok{};
}

Result<FollowResult> Ingester::follow_in_transaction(ExperimentId id) {
    DET_TRY_ASSIGN(auto transaction, index::Transaction::begin(index_));
    auto& follower = followers_.try_emplace(id, index_, root_, id).first->second;
    DET_TRY_ASSIGN(auto const result, follower.follow());
    if (result.has_changed) DET_TRY(index::increase_commit_number(index_));
    DET_TRY(transaction.commit());
    return result;
}

Result<bool> Ingester::follow(ExperimentId id, TimePoint now) {
    change_times_->forget(id);  // readers ask for the experiment until it has been read
    auto const result = follow_in_transaction(id);
    if (!result) {
        followers_.erase(id);  // the follower is ahead of the index
        unwritten_.insert(id);
        return result.error();
    }
    unwritten_.erase(id);
    if (result->is_settled) {
        followers_.erase(id);
        change_times_->set(id, result->changed_ns);
    }
    schedule_.mark_polled(id, result->has_changed, result->is_settled, now);
    return result->has_changed;
}

/// Follows those of the experiments that may differ from the index.
Result<bool> Ingester::follow_changed(std::vector<ExperimentId> const& ids, TimePoint now) {
    bool has_changed = false;
    for (auto const id : ids) {
        if (change_times_->has(id, ChangeTimes::read(ExperimentLayout(root_.experiment(id))))) continue;
        DET_TRY_ASSIGN(bool const experiment_has_changed, follow(id, now));
        has_changed |= experiment_has_changed;
    }
    return has_changed;
}

Result<bool> Ingester::poll(TimePoint now) {
    DET_TRY(list_new(now));
    auto due = schedule_.take_due(now);
    std::set<ExperimentId> ids(due.begin(), due.end());
    ids.insert(unwritten_.begin(), unwritten_.end());
    return follow_changed({ids.begin(), ids.end()}, now);
}

Result<bool> Ingester::refresh_all(TimePoint now) {
    DET_TRY(list_new(now));
    return follow_changed(schedule_.list_all(), now);
}

Result<bool> Ingester::refresh(ExperimentId id, TimePoint now) {
    if (!schedule_.contains(id)) DET_TRY(list_new(now));
    bool has_changed = false;
    for (auto const other : schedule_.list_never_read()) {
        if (other == id) continue;
        DET_TRY_ASSIGN(bool const is_new, follow(other, now));
        has_changed |= is_new;
    }
    if (!schedule_.contains(id)) return has_changed;
    DET_TRY_ASSIGN(bool const experiment_has_changed, follow(id, now));
    return has_changed || experiment_has_changed;
}

Status Ingester::read_all() {
    auto const now = TimePoint();
    DET_TRY(list_new(now));
    for (auto const id : schedule_.list_all()) {
        // Journals that have ended are settled once a second reading finds nothing new.
        for (bool has_changed = true; has_changed;) {
            DET_TRY_ASSIGN(has_changed, follow(id, now));
        }
        DET_TRY(follow(id, now));
        followers_.erase(id);
    }
    return Ok{};
}

}  // namespace det::tracker::ingest
