#pragma once
#include <det/protocol/experiment_spec.hpp>
#include <det/retention/gc_policy.hpp>
#include <det/tracker/history/history.hpp>

#include <optional>
#include <string>
#include <vector>

#include "command.hpp"

namespace det::cli {

/// The options of Determined that say which checkpoint is the best.
struct CheckpointOrder {
    std::optional<std::string> sort_by;            // a validation metric; nothing: the searcher's
    std::optional<std::string> smaller_is_better;  // true or false

    void add_options(std::vector<Option>& options);
    /// Sets the searcher's metric and direction as the user wants them, so that the checkpoints that are
    /// listed with the specification have the values of that metric. codes::usage if only one of the two is
    /// given.
    Status apply(ExperimentSpec& spec) const;
    /// Fails with codes::no_such_metric if none of the trials has reported a validation with the metric
    /// sort_by.
    Status require_metric(tracker::history::History& history, std::vector<TrialId> const& trials) const;
};

/// Keeps the checkpoints with a value of the metric, the best one first; equal ones stay in their order.
/// Pure.
void filter_and_sort_by_metric(std::vector<retention::KnownCheckpoint>& checkpoints, bool smaller_is_better);

}  // namespace det::cli
