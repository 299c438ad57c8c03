#pragma once
#include <det/config/experiment_config.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/search/search.hpp>

namespace det::plan {

/// What jobs draw their trials from, as it stands in their specification.
struct SearchInput {
    SearcherSpec searcher;
    JsonValue hyperparameters;
    std::uint32_t experiment_seed = 0;
};
SearchInput search_input(config::ExperimentConfig const& config);

/// The trials that the configuration makes, at least one. What can't be searched is told with its places.
/// Pure.
Result<search::Search, Diagnostics> plan_search(config::ExperimentConfig const& config);

}  // namespace det::plan
