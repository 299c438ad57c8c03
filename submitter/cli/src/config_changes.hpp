#pragma once
#include <det/config/experiment_config.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace det::cli {

/// A value of a configuration that became another one.
struct ConfigChange {
    std::string key;  // "searcher.max_length.batches"
    Json from, to;    // null: it was not there, or is not any more
    std::optional<SourceSpan> where = {};
};

/// Sorted by key; secrets are masked, a change of one is not seen. Pure.
std::vector<ConfigChange> find_changes(ExperimentSpec const& before, config::ExperimentConfig const& after);

/// Those that an experiment may not have when it is continued: its checkpoints and its search stay what they
/// are, and what has a command of its own is changed by that. Pure.
Diagnostics check_changes(std::vector<ConfigChange> const& changes);

/// Trials that are not run again must be given what they were given before. Pure.
Diagnostics check_points(ExperimentSpec const& before, ExperimentSpec const& after,
                         std::vector<std::uint32_t> const& reopened,
                         std::vector<ConfigChange> const& changes);

/// "searcher.max_length.batches: 100 -> 200"
std::string describe(ConfigChange const& change);

/// Those that a `continued` event tells of. Pure.
std::vector<ConfigChange> changes_in(Event const& event);

/// [{"key", "from", "to"}]
Json to_json(std::vector<ConfigChange> const& changes);

}  // namespace det::cli
