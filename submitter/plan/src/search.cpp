#include <det/plan/search.hpp>
#include <det/protocol/json.hpp>
#include <det/yaml/render.hpp>

namespace det::plan {
namespace {

Json section(config::ExperimentConfig const& config, std::string_view key) {
    auto const* found = config.effective.find(key);
    return found != nullptr ? yaml::to_json(*found) : Json::object();
}

Error no_trials() {
    return {codes::bad_value, "a grid search without hyperparameters has no trials",
            "add hyperparameters, or use the searcher 'single'"};
}

}  // namespace

SearchInput search_input(config::ExperimentConfig const& config) {
    auto const& searcher = config.searcher;
    return {
        {searcher.name, searcher.metric, searcher.smaller_is_better, section(config, "searcher")},
        section(config, "hyperparameters"),
        static_cast<std::uint32_t>(config.reproducibility.experiment_seed.value_or(0)),
    };
}

Result<search::Search, Diagnostics> plan_search(config::ExperimentConfig const& config) {
    auto const input = search_input(config);
    auto search = search::Search::parse(input.searcher, input.hyperparameters, input.experiment_seed);
    Diagnostics found;
    auto const refuse = [&](std::string_view path, Error error) {
        error.where = config.where(path);
        found.report(std::move(error));
    };
    if (!search) {
        for (auto const& refusal : search.error()) refuse(refusal.path, refusal.error);
        return found;
    }
    if (search->trial_count() > 0) return *std::move(search);
    refuse("searcher.name", no_trials());
    return found;
}

}  // namespace det::plan
