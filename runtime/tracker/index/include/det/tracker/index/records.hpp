#pragma once
#include <det/tracker/history/history.hpp>
#include <det/tracker/index/database.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace det::tracker::index {

// The rows of the index that hold the records of History as JSON. The functions that write do so inside the
// caller's transaction.

/// An experiment without its trials.
struct ExperimentRow {
    history::ExperimentRecord record;
    std::optional<Error> error;   // why it could not be read; the record then has the id only
    bool is_settled = false;      // nothing of it will change unless a user acts
    std::int64_t changed_ns = 0;  // when its directory or its events had last changed before it was read
};

struct TrialRow {
    history::TrialRecord record;
    bool is_settled = false;
    std::optional<journal::BestValidation> best;
};

/// Which journal of a run.
struct JournalKey {
    TrialId trial;
    std::uint32_t run = 0;
    std::int32_t node = chief;  // of the node that wrote it; of a rank's journal see below

    static constexpr std::int32_t chief = -1;  // the chief's journal
    /// The journal of a rank: -1 is that of the chief, rank 0.
    static std::int32_t of_rank(Rank rank) { return chief - rank.value; }
    bool is_of_rank() const { return node <= chief; }
    Rank rank() const { return {chief - node}; }  // of a rank's journal
    friend auto operator<=>(JournalKey const&, JournalKey const&) = default;
};

/// A journal as far as it has been read.
struct JournalRow {
    std::int64_t id = 0;
    JournalKey key;
    std::uint64_t offset_bytes = 0;          // of the next frame; 0: the header has not been read
    std::uint64_t reports = 0;               // number of reports that have been read
    history::RunReports records;             // without the metrics
    std::vector<std::string> frame_schemas;  // payloads of the metric-schema frames, in order
    std::optional<Error> error;              // why it can't be read beyond the offset
    bool is_settled = false;                 // no process writes it any more, and it has been read to its end
};

Status put_experiment(Database& index, ExperimentRow const& experiment);
Result<std::optional<ExperimentRow>> find_experiment(Database& index, ExperimentId id);
/// The ids of all experiments, ascending.
Result<std::vector<ExperimentId>> list_experiments(Database& index);
/// Removes an experiment with its trials, journals, rungs and summary.
Status remove_experiment(Database& index, ExperimentId id);

/// Values for lists of experiments that do not follow from an experiment's record.
struct SummaryExtras {
    std::optional<history::BestTrial> best = {};
    std::optional<double> progress = {};
};

/// Stores what lists show of an experiment.
/// \param error why it can't be read; the record then has the id only
Status put_summary(Database& index, history::ExperimentRecord experiment, std::optional<Error> const& error,
                   SummaryExtras const& extras = {});
Result<history::ExperimentPage> list_summaries(Database& index, history::ExperimentFilter const& filter);

Status put_trial(Database& index, TrialRow const& trial);
Result<std::optional<TrialRow>> find_trial(Database& index, TrialId id);
Result<std::vector<TrialRow>> list_trials(Database& index, ExperimentId id);

Status put_rung(Database& index, ExperimentId id, std::uint32_t bracket, std::uint32_t rung,
                std::vector<std::string> const& names);
Result<std::vector<std::string>> find_rung(Database& index, ExperimentId id, std::uint32_t bracket,
                                           std::uint32_t rung);

/// Adds the row; its id is assigned.
Result<std::int64_t> add_journal(Database& index, JournalKey const& key);
Status update_journal(Database& index, JournalRow const& journal);
/// The journals of a trial, in order of run and node.
Result<std::vector<JournalRow>> list_journals(Database& index, TrialId trial);

}  // namespace det::tracker::index
