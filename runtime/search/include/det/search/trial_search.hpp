#pragma once
#include <det/protocol/record.hpp>
#include <det/search/asha.hpp>
#include <det/search/rung.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace det::search {

/// A validation as the search sees it.
struct SearchReport {
    std::uint64_t steps_completed = 0;
    double time = 0;    // the training length so far, in the unit of the searcher
    double metric = 0;  // NaN: worse than every number
};

/// What a trial's reports are read with.
struct ReportFormat {
    std::string metric;  // searcher.metric
    TrainingLength length;
    BatchSize batch_size;
};

/// Reads a validation report. The time is the metric `time_metric` if one is configured, else the metric that
/// has the name of the unit ("epochs"), else steps_completed in the unit. null counts as NaN.
/// codes::bad_value names the reported metrics if one that is needed is missing or not a number.
Result<SearchReport> read_report(MetricsReported const& report, ReportFormat const& format);

/// Where the entries of rungs are recorded, for all trials of an experiment.
class RungStore {
public:
    virtual ~RungStore() = default;
    /// Records an entry. It is whole or absent after a crash, and all processes see it sooner or later.
    virtual Status add(std::uint32_t bracket, std::uint32_t rung, std::string const& entry) = 0;
    /// The entries that are visible now, in any order. May lag behind.
    virtual Result<std::vector<std::string>> list(std::uint32_t bracket, std::uint32_t rung) const = 0;
    virtual Status remove(std::uint32_t bracket, std::uint32_t rung, std::string const& entry) = 0;
};

/// The search from the view of one trial: records the trial's arrival at each rung and decides whether the
/// trial trains on. Needs no server: the entry is written first and the rung is listed then, so that of two
/// trials that arrive at the same moment at least one sees the other.
class TrialSearch {
public:
    /// \param is_resumed an earlier process may have added an entry without recording its decision.
    TrialSearch(AshaSearch search, std::uint32_t bracket, std::uint32_t trial, bool is_resumed)
        : search_(std::move(search)), bracket_(bracket), trial_(trial), is_resumed_(is_resumed) {}

    /// Whether the report reaches the trial's current rung.
    bool reaches_rung(SearchReport const& report) const;

    /// Decides about the trial at its current rung if the report reaches it; nullopt if it does not, or if
    /// the search has ended the trial. The caller records the decision and then calls apply(). One report
    /// may reach several rungs: call again until nothing is returned. The field `time` is left empty.
    Result<std::optional<SearchDecision>> decide(SearchReport const& report, RungStore& store) const;

    /// Continues after a recorded decision, of this process or of an earlier one. The decisions of runs are
    /// applied in the order of the runs, and the last one counts: a later run decides at a rung only if it
    /// did not find a decision there. If an earlier run has one, it recorded it after it had been cut off.
    void apply(SearchDecision const& decision);

    /// The decision that ended the trial: stop or complete.
    std::optional<SearchDecision> const& end_decision() const { return end_; }
    TrainingLength const& length() const { return search_.length; }

    /// Records that the trial failed: the worst entry at its current rung, unless the search has ended it.
    Status add_failure(RungStore& store) const;
    /// Removes all entries of the trial, because its hyperparameters are invalid.
    Status remove_entries(RungStore& store) const;

private:
    Result<RungEntry> add_entry(double metric, RungStore& store) const;

    AshaSearch search_;
    std::uint32_t bracket_;
    std::uint32_t trial_;
    bool is_resumed_;
    std::uint32_t rung_ = 0;  // the next one
    std::optional<SearchDecision> end_;
};

/// One line about a decision: "2 of 7 trials at rung 1 are better, 1 train on".
std::string describe(SearchDecision const& decision);

/// The digest of entries that a SearchDecision records. \param entries sorted by trial
std::string digest_of(std::span<RungEntry const> entries);

}  // namespace det::search
