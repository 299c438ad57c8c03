#include "test_layers.hpp"

#include <cmath>

namespace det::experiment {
namespace {

using yaml::Node;

/// What explain_config and messages show as the origin of the values.
yaml::Location option_location() {
    constexpr char option[] = "--test";
    return {std::make_shared<yaml::Source const>(option, option), 1, 1, sizeof(option) - 1};
}

/// Returns the first value of a hyperparameter's range or list; nothing for a constant or a nested section.
struct OneValue {
    yaml::Location const& where;

    std::optional<Node> operator()(config::ConstHyperparameter const&) const { return std::nullopt; }
    std::optional<Node> operator()(config::IntHyperparameter const& range) const {
        return Node(range.minval, where);
    }
    std::optional<Node> operator()(config::DoubleHyperparameter const& range) const {
        return Node(range.minval, where);
    }
    std::optional<Node> operator()(config::LogHyperparameter const& range) const {
        return Node(std::pow(range.base, range.minval), where);
    }
    std::optional<Node> operator()(config::CategoricalHyperparameter const& choice) const {
        return choice.vals.empty() ? std::nullopt : std::optional(choice.vals.front());
    }
    std::optional<Node> operator()(config::Hyperparameters const&) const { return std::nullopt; }
};

class TestLayers {
public:
    std::vector<config::Layer> of(config::ExperimentConfig const& config) && {
        auto const& searcher = config.searcher;
        replace({"searcher"}, map({{"name", text("single")},
                                   {"metric", text(searcher.metric)},
                                   {"smaller_is_better", Node(searcher.smaller_is_better, where_)},
                                   {"max_length", map({{"batches", integer(1)}})}}));
        replace({"name"}, text("[test] " + config.name));
        replace({"max_restarts"}, integer(0));
        for (auto const* kept : {"save_experiment_best", "save_trial_best", "save_trial_latest"})
            replace({"checkpoint_storage", kept}, integer(0));
        fix(config.hyperparameters, {"hyperparameters"});
        return std::move(layers_);
    }

private:
    /// Replaces each hyperparameter that a search draws by a constant.
    void fix(config::Hyperparameters const& all, std::vector<std::string> const& path) {
        for (auto const& [name, hyperparameter] : all) {
            auto here = path;
            here.push_back(name);
            if (auto const* nested = std::get_if<config::Hyperparameters>(&hyperparameter.value))
                fix(*nested, here);
            if (auto value = std::visit(OneValue{where_}, hyperparameter.value))
                replace(std::move(here), map({{"type", text("const")}, {"val", *std::move(value)}}));
        }
    }

    void replace(std::vector<std::string> path, Node value) {
        layers_.push_back(config::replace_value(std::move(path), std::move(value), where_));
    }
    Node text(std::string value) const { return Node(std::move(value), where_); }
    Node integer(std::int64_t value) const { return Node(value, where_); }
    Node map(std::vector<std::pair<std::string, Node>> values) const {
        std::vector<Node::Entry> entries;
        for (auto& [key, value] : values) entries.push_back({key, where_, std::move(value)});
        return Node(std::move(entries), where_);
    }

    yaml::Location where_ = option_location();
    std::vector<config::Layer> layers_;
};

}  // namespace

std::vector<config::Layer> test_layers(config::ExperimentConfig const& config) {
    return TestLayers().of(config);
}

}  // namespace det::experiment
