#pragma once
#include <det/config/experiment_config.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace det::experiment {

/// A changed value of a configuration.
struct ConfigChange {
    std::string key;  // "searcher.max_length.batches"
    Json from, to;    // null: the key did not exist before (from) or no longer exists (to)
    std::optional<SourceSpan> where = {};
};

/// Finds the changes, sorted by key. Compares with masked secrets: does not find a changed secret. Pure.
std::vector<ConfigChange> find_changes(ExperimentSpec const& before, config::ExperimentConfig const& after);

/// Returns an error for each change that a continuation must not make: the checkpoint storage, the kind of
/// search, workspace and project stay the same, and some keys have commands of their own. Pure.
Diagnostics check_changes(std::vector<ConfigChange> const& changes);

/// Returns an error if the number of trials changes, or if a trial that is not in `reopened` would get other
/// hyperparameters. Pure.
Diagnostics check_same_trials(ExperimentSpec const& before, ExperimentSpec const& after,
                              std::vector<std::uint32_t> const& reopened,
                              std::vector<ConfigChange> const& changes);

/// Describes a change: "searcher.max_length.batches: 100 -> 200".
std::string describe(ConfigChange const& change);

/// Reads the changes in a `continued` event. Pure.
std::vector<ConfigChange> changes_in(Event const& event);

/// Returns an array of objects with the fields "key", "from" and "to".
Json to_json(std::vector<ConfigChange> const& changes);

}  // namespace det::experiment
