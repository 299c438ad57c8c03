#pragma once
#include <det/protocol/record.hpp>
#include <det/search/asha.hpp>
#include <det/search/rung.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace det::search {

/// The parts of a validation report that a search uses.
struct SearchReport {
    std::uint64_t steps_completed = 0;
    double time = 0;    // the training length so far, in the unit of the searcher
    double metric = 0;  // NaN: worse than every number
};

/// The settings of the experiment that read_report() needs.
struct ReportFormat {
    std::string metric;  // searcher.metric
    TrainingLength length;
    BatchSize batch_size;
};

/// Reads a validation report. The time is the metric `time_metric` if one is configured, else the metric that
/// has the name of the unit ("epochs") if it is a number, else steps_completed in the unit. null and the
/// names that Python writes (NaN, Infinity, -Infinity) count as numbers; null is NaN. codes::bad_value if a
/// metric that is needed is missing (the message lists those reported) or no number.
Result<SearchReport> read_report(MetricsReported const& report, ReportFormat const& format);

/// Where the entries of rungs are recorded, for all trials of an experiment.
class RungStore {
public:
    virtual ~RungStore() = default;
    /// Records an entry. After a crash the entry is complete or absent. Other processes may see it later.
    virtual Status add(std::uint32_t bracket, std::uint32_t rung, std::string const& entry) = 0;
    /// The entries that this process can see now, in any order. Entries that were added before may be
    /// missing.
    virtual Result<std::vector<std::string>> list(std::uint32_t bracket, std::uint32_t rung) const = 0;
    /// Removes an entry that list() has returned.
    virtual Status remove(std::uint32_t bracket, std::uint32_t rung, std::string const& entry) = 0;
};

/// The search from the view of one trial: records the trial's arrival at each rung and decides whether the
/// trial trains on. Needs no server: the entry is written first and the rung is listed then. So if the store
/// shows entries at once, of two trials that arrive at the same time at least one finds the other's entry. If
/// the store lags, both may decide without the other, and each records the list that it decided from.
class TrialSearch {
public:
    /// \param is_resumed an earlier process may have added an entry without recording its decision.
    TrialSearch(AshaSearch search, std::uint32_t bracket, std::uint32_t trial, bool is_resumed)
        : search_(std::move(search)), bracket_(bracket), trial_(trial), is_resumed_(is_resumed) {}

    /// Whether the report reaches the trial's current rung.
    bool reaches_rung(SearchReport const& report) const;

    /// Adds the trial's entry to its current rung if the report reaches the rung, then decides about the
    /// trial; nullopt if the report does not reach it, or if the search has ended the trial. The caller
    /// records the decision and then calls apply(). One report may reach several rungs: decide and apply
    /// until nullopt is returned. The field `time` is left empty. Fails if the store fails.
    Result<std::optional<SearchDecision>> decide(SearchReport const& report, RungStore& store) const;

    /// Continues after a recorded decision, of this process or of an earlier one. Apply the decisions of all
    /// runs in the order of the runs. If two runs decided at the same rung, the later run's decision counts:
    /// the later run found none when it decided, so the earlier run recorded its own after it had been cut
    /// off. A decision with an unknown name is ignored.
    void apply(SearchDecision const& decision);

    /// The decision that ended the trial: stop or complete.
    std::optional<SearchDecision> const& end_decision() const { return end_; }
    TrainingLength const& length() const { return search_.length; }

    /// Records that the trial failed: adds an entry with the metric NaN at its current rung. Does nothing if
    /// the search has ended the trial. An entry that an earlier process added there stays as it is.
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

/// Formats a decision like "2 of 7 trials at rung 1 are better, 1 train on".
std::string describe(SearchDecision const& decision);

/// The SHA-256 of the entries' names, which a SearchDecision records.
/// \param entries sorted by trial
std::string digest_of(std::span<RungEntry const> entries);

}  // namespace det::search
