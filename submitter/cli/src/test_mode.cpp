#include "test_mode.hpp"

#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>
#include <det/yaml/render.hpp>

#include <cmath>
#include <fmt/format.h>

namespace det::cli {
namespace {

/// One value of those that a search would try; nothing where there is no choice.
struct OneValue {
    std::optional<Json> operator()(config::ConstHyperparameter const&) const { return std::nullopt; }
    std::optional<Json> operator()(config::IntHyperparameter const& range) const {
        return Json(range.minval);
    }
    std::optional<Json> operator()(config::DoubleHyperparameter const& range) const {
        return Json(range.minval);
    }
    std::optional<Json> operator()(config::LogHyperparameter const& range) const {
        return Json(std::pow(range.base, range.minval));
    }
    std::optional<Json> operator()(config::CategoricalHyperparameter const& choice) const {
        return choice.vals.empty() ? std::nullopt : std::optional(yaml::to_json(choice.vals.front()));
    }
    std::optional<Json> operator()(config::Hyperparameters const&) const { return std::nullopt; }
};

void fix(std::vector<std::string>& overrides, config::Hyperparameters const& all, std::string const& path) {
    for (auto const& [name, hyperparameter] : all) {
        auto const here = path + "." + name;
        if (auto const* nested = std::get_if<config::Hyperparameters>(&hyperparameter.value))
            fix(overrides, *nested, here);
        if (auto const value = std::visit(OneValue(), hyperparameter.value))
            overrides.push_back(here + "={type: const, val: " + to_line(*value) + "}");
    }
}

}  // namespace

std::vector<std::string> test_overrides(config::ExperimentConfig const& config) {
    std::vector<std::string> overrides{
        fmt::format(
            "searcher={{name: single, metric: {}, smaller_is_better: {}, max_length: {{batches: 1}}}}",
            to_line(Json(config.searcher.metric)), config.searcher.smaller_is_better),
        "name=" + to_line(Json("[test] " + config.name)),
        "max_restarts=0",
        "checkpoint_storage.save_experiment_best=0",
        "checkpoint_storage.save_trial_best=0",
        "checkpoint_storage.save_trial_latest=0",
    };
    fix(overrides, config.hyperparameters, "hyperparameters");
    return overrides;
}

}  // namespace det::cli
