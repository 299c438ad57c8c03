#pragma once
#include <det/tracker/history/journal_history.hpp>
#include <det/tracker/index/records.hpp>
#include <det/tracker/ingest/journal_follower.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace det::tracker::ingest {

/// What an ExperimentFollower found.
struct FollowResult {
    bool has_changed = false;
    bool is_settled = false;      // nothing of it will change unless a user acts
    std::int64_t changed_ns = 0;  // see ChangeTimes
};

/// Copies an experiment with its trials and journals into the index, again and again while it runs.
class ExperimentFollower {
public:
    ExperimentFollower(index::Database& database, RootLayout root, ExperimentId id)
        : database_(database), root_(std::move(root)), history_(root_), id_(id) {}

    /// Reads what has changed since the last call, inside the caller's transaction. Errors of the
    /// experiment's files are kept in the index; only errors of the index are returned. After such an error
    /// the object must not be used again.
    Result<FollowResult> follow();

private:
    struct Trial {
        index::TrialRow row;
        std::string stored;         // its JSON in the index
        bool has_new_head = false;  // its experiment has changed since it was written
        std::map<index::JournalKey, std::unique_ptr<JournalFollower>> journals;
    };

    Status load_stored();
    Result<bool> follow_head(history::ExperimentRecord head);
    Result<bool> follow_trials();
    Result<bool> follow_trial(Trial& trial, history::TrialRecord record);
    Result<bool> follow_run(Trial& trial, std::uint32_t run);
    Result<bool> follow_journal(Trial& trial, index::JournalKey const& key,
                                std::filesystem::path const& path);
    Result<bool> follow_rungs();
    Result<bool> keep_error(Error error);
    Status write_summary();
    index::SummaryExtras summarise_trials() const;
    std::optional<double> progress_of(Trial const& trial) const;
    std::optional<double> progress_of_search() const;
    history::ExperimentRecord record_with_trials() const;
    TrialLayout trial_layout(TrialId id) const;

    index::Database& database_;
    RootLayout root_;
    history::JournalHistory history_;
    ExperimentId id_;
    bool is_loaded_ = false;
    index::ExperimentRow experiment_;
    std::string stored_;  // the JSON of the experiment in the index
    std::map<std::uint32_t, Trial> trials_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::string>> rungs_;
};

/// Whether no process will write records of a trial any more unless a user acts. Pure.
/// \param desired of the trial or of its experiment, whichever is stricter
/// \param first_run that counts; the ones before it are of earlier revisions of the experiment
bool is_settled(history::TrialRecord const& trial, DesiredState desired, std::uint32_t first_run);

}  // namespace det::tracker::ingest
