#pragma once
#include <det/journal/tail.hpp>
#include <det/launch/supervisor/batch_job.hpp>
#include <det/search/search.hpp>
#include <det/search/trial_search.hpp>

#include <chrono>
#include <deque>
#include <optional>
#include <string>

#include "run_record.hpp"
#include "rung_directory.hpp"

namespace det::launch::supervisor {

/// Follows the search of the trial of one run: reads what its chief reports, records the trial's arrival at
/// rungs, and decides whether the trial trains on. Also reads the journals of earlier runs, whose supervisor
/// may have been killed before it decided about their last reports.
class SearchFollower {
public:
    /// nullopt if the searcher stops no trials.
    static Result<std::optional<SearchFollower>> open(BatchJob const& batch_job, RunId run,
                                                      search::TrialDraw const& draw);

    /// Handles all reports since the last call. Writes nothing once a newer run of the trial exists.
    Status follow(RunRecord& record, Clock const& clock);
    /// Makes the next follow() see also what the chief has just written on another node.
    void open_again() { next_open_at_ = {}; }

    /// The decision that ended the trial, if the search has ended it.
    std::optional<SearchDecision> const& end_decision() const { return search_.end_decision(); }
    std::string describe_end() const;
    /// Why the reports can't be used; empty while they can. The first such report ends the trial.
    std::string const& invalid_report_reason() const { return invalid_report_reason_; }

    Status add_failure() { return search_.add_failure(rungs_); }
    Status remove_entries() { return search_.remove_entries(rungs_); }

private:
    SearchFollower(search::TrialSearch search, search::ReportFormat format, RungDirectory rungs)
        : search_(std::move(search)), format_(std::move(format)), rungs_(std::move(rungs)) {}

    Status load_earlier_runs(TrialLayout const& trial, std::uint32_t run);
    Status read_reports(journal::JournalTail& journal);
    std::optional<search::SearchReport> read(Record const& record);
    Status decide(search::SearchReport const& report, RunRecord& record, Clock const& clock);

    search::TrialSearch search_;
    search::ReportFormat format_;
    RungDirectory rungs_;
    std::deque<journal::JournalTail> journals_;  // of the runs that are still read; the last is this run's
    std::chrono::steady_clock::time_point next_open_at_{};  // when its file is opened again
    std::deque<search::SearchReport> reports_;              // read, and not decided about yet
    std::uint64_t steps_completed_ = 0;                     // of the last validation
    std::string invalid_report_reason_;
};

}  // namespace det::launch::supervisor
