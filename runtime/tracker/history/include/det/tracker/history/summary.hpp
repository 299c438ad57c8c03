#pragma once
#include <det/foundation/error.hpp>
#include <det/lifecycle/state.hpp>
#include <det/protocol/ids.hpp>
#include <det/protocol/json_value.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace det::tracker::history {

struct ExperimentRecord;
struct ExperimentView;
struct TrialRecord;

/// The trial of an experiment with the best validation.
struct BestTrial {
    std::uint32_t trial = 0;
    double value = 0;
    std::uint64_t steps_completed = 0;
    friend bool operator==(BestTrial const&, BestTrial const&) = default;
};

/// An experiment in a list.
struct ExperimentSummary {
    ExperimentId id;
    /// The JSON of to_summary_json(), on one line. Empty if Slurm's queue can change the state: then
    /// view_experiment() of the record and the queue gives it.
    std::string text;
    std::optional<Error> error;           // why it can't be read; `text` is empty then
    std::optional<BestTrial> best = {};   // by the searcher's metric; empty if this History stores none
    std::optional<double> progress = {};  // 0 to 1; empty if this History stores none
};

struct ExperimentFilter {
    /// Experiments whose state Slurm's queue can change are listed whatever their state.
    std::optional<lifecycle::State> state = {};
    std::optional<std::string> owner = {};
    std::optional<std::string> name = {};   // a part of the name
    std::optional<std::string> label = {};  // one of the labels
    bool with_archived = false;
    std::optional<std::uint64_t> before = {};  // only lower ids
    std::size_t limit = 1000;
};

struct ExperimentPage {
    /// Newest first, at most `limit`. Experiments that can't be read are among them, whatever state, owner,
    /// name and label the filter has.
    std::vector<ExperimentSummary> experiments;
    bool has_more = false;  // beyond the limit
};

/// What lists show of an experiment: the fields of to_json(view) without `trials`, with `trial_count`,
/// `completed_trials`, `searcher` and `hyperparameters` (as configured: values and what they are drawn from).
/// Pure.
Json to_summary_json(ExperimentView const& view);

/// Whether the state of a trial follows from the records alone, whatever Slurm's queue shows. Pure.
bool is_queue_independent(ExperimentRecord const& experiment, TrialRecord const& trial);
/// Whether the states of all trials of an experiment follow from the records alone.
bool is_queue_independent(ExperimentRecord const& experiment);

/// Whether an experiment passes the filter's owner, name, label and with_archived; state, before and limit
/// are the caller's part. Pure.
bool matches(ExperimentRecord const& experiment, ExperimentFilter const& filter);

/// The summary of an experiment, and its state unless Slurm's queue can change it. Pure.
std::pair<ExperimentSummary, std::optional<lifecycle::State>> summarise(ExperimentRecord experiment);

}  // namespace det::tracker::history
