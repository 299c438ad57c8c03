#pragma once
#include <det/config/experiment_config.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/search/search.hpp>

namespace det::plan {

/// The input of the searcher, as in spec.json.
struct SearchInput {
    SearcherSpec searcher;
    JsonValue hyperparameters;
    std::uint32_t experiment_seed = 0;
};
SearchInput search_input(config::ExperimentConfig const& config);

/// \return The search of the configuration, with at least one trial; or errors with their locations. Pure.
Result<search::Search, Diagnostics> plan_search(config::ExperimentConfig const& config);

}  // namespace det::plan
