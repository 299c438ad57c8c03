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
    Json from, to;    // null: it was not there, or is not any more
    std::optional<SourceSpan> where = {};
};

/// The changes, sorted by key. Secrets are masked: a change of one is not found. Pure.
std::vector<ConfigChange> find_changes(ExperimentSpec const& before, config::ExperimentConfig const& after);

/// Errors for changes that a continuation must not make: checkpoints and search stay as they are, and some
/// keys have commands of their own. Pure.
Diagnostics check_changes(std::vector<ConfigChange> const& changes);

/// Errors if a trial that does not run again would get other hyperparameters. Pure.
Diagnostics check_points(ExperimentSpec const& before, ExperimentSpec const& after,
                         std::vector<std::uint32_t> const& reopened,
                         std::vector<ConfigChange> const& changes);

/// "searcher.max_length.batches: 100 -> 200"
std::string describe(ConfigChange const& change);

/// The changes in a `continued` event. Pure.
std::vector<ConfigChange> changes_in(Event const& event);

/// [{"key", "from", "to"}]
Json to_json(std::vector<ConfigChange> const& changes);

}  // namespace det::experiment
