#pragma once
#include <det/experiment/open_experiment.hpp>
#include <det/journal/best_validation.hpp>
#include <det/tracker/history/experiment_view.hpp>

#include <vector>

namespace det::cli {

/// A trial with its best validation by the searcher's metric.
struct RankedTrial {
    tracker::history::TrialView const* view = nullptr;
    journal::BestValidation validation;
};

/// The trials of an experiment that have a validation, the best one first; of equal ones the earlier trial.
/// None if the experiment's creation was interrupted.
Result<std::vector<RankedTrial>> rank_trials(tracker::history::ExperimentView const& view,
                                             tracker::history::History& history);

}  // namespace det::cli
