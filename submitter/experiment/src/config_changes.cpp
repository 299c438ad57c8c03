#include <det/config/layers.hpp>
#include <det/experiment/config_changes.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/search/search.hpp>
#include <det/yaml/render.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace det::experiment {
namespace {

/// A key that a continuation can't change. The keys below it can't change either.
struct Fixed {
    std::string_view key;
    std::string_view why;
    std::string_view hint;
};

constexpr char fork[] = "'det-submit experiment fork' makes a new experiment that differs in it";
constexpr char gc_policy[] = "use 'det-submit experiment set gc-policy'";

// The first entry that matches a key gives the reason: longer keys stand before their prefixes.
constexpr Fixed fixed_keys[] = {
    {"searcher.name", "an experiment keeps its kind of search", fork},
    {"checkpoint_storage.save_experiment_best", "it has a command of its own", gc_policy},
    {"checkpoint_storage.save_trial_best", "it has a command of its own", gc_policy},
    {"checkpoint_storage.save_trial_latest", "it has a command of its own", gc_policy},
    {"checkpoint_storage", "the experiment's checkpoints stay where they were saved", fork},
    {"name", "it has a command of its own", "use 'det-submit experiment set name'"},
    {"description", "it has a command of its own", "use 'det-submit experiment set description'"},
    {"labels", "it has a command of its own", "use 'det-submit experiment label'"},
    {"workspace", "an experiment stays where it is", fork},
    {"project", "an experiment stays where it is", fork},
};

bool is_below(std::string_view key, std::string_view above) {
    return key.starts_with(above) && (key.size() == above.size() || key[above.size()] == '.');
}

yaml::Node const* find(yaml::Node const* map, std::string const& key) {
    return map != nullptr ? map->find(key) : nullptr;
}

void compare(std::string const& path, Json const& before, yaml::Node const* after,
             std::vector<ConfigChange>& changes) {
    bool const is_map = after != nullptr && after->is_map();
    if (before.is_object() && (is_map || after == nullptr || after->is_null())) {
        std::set<std::string> keys;
        for (auto const& [key, value] : before.items()) keys.insert(key);
        if (is_map)
            for (auto const& entry : after->entries()) keys.insert(entry.key);
        for (auto const& key : keys) {
            compare(path.empty() ? key : path + "." + key, before.value(key, Json()), find(after, key),
                    changes);
        }
        return;
    }
    auto to = after != nullptr ? yaml::to_json(*after) : Json();
    if (before != to)
        changes.push_back({path, before, std::move(to), after ? after->location().span() : std::nullopt});
}

std::optional<search::Search> search_of(ExperimentSpec const& spec) {
    auto search = search::Search::parse(spec.searcher, spec.hyperparameters, spec.experiment_seed);
    return search ? std::optional(*std::move(search)) : std::nullopt;
}

/// Returns the location of the change that most likely gave trials other hyperparameters.
std::optional<SourceSpan> location_of_search(std::vector<ConfigChange> const& changes) {
    for (auto const* section : {"hyperparameters", "searcher", "reproducibility"}) {
        for (auto const& change : changes) {
            if (is_below(change.key, section)) return change.where;
        }
    }
    return std::nullopt;
}

}  // namespace

std::vector<ConfigChange> find_changes(ExperimentSpec const& before, config::ExperimentConfig const& after) {
    std::vector<ConfigChange> changes;
    auto const shown = config::mask_secrets(after.effective);
    compare("", before.config, &shown, changes);
    return changes;
}

Diagnostics check_changes(std::vector<ConfigChange> const& changes) {
    Diagnostics refused;
    for (auto const& change : changes) {
        auto const* fixed = std::ranges::find_if(
            fixed_keys, [&](auto const& each) { return is_below(change.key, each.key); });
        if (fixed == std::end(fixed_keys)) continue;
        refused.report(Error{
            codes::bad_value,
            fmt::format("{} can't be changed when an experiment is continued: {}", change.key, fixed->why),
            std::string(fixed->hint), change.where});
    }
    return refused;
}

Diagnostics check_same_trials(ExperimentSpec const& before, ExperimentSpec const& after,
                              std::vector<std::uint32_t> const& reopened,
                              std::vector<ConfigChange> const& changes) {
    auto const refuse = [&](std::string message) {
        return Error{codes::bad_value, std::move(message), fork, location_of_search(changes)};
    };
    if (before.trial_count != after.trial_count) {
        return refuse(fmt::format("the search has {} trials and would have {}: a continued one has the same",
                                  before.trial_count, after.trial_count));
    }
    auto const old_search = search_of(before), new_search = search_of(after);
    if (!old_search || !new_search) return {};  // refused by the plan
    auto const old_points = old_search->draw_first(after.trial_count);
    auto const new_points = new_search->draw_first(after.trial_count);
    std::set<std::uint32_t> const runs_again(reopened.begin(), reopened.end());
    for (std::uint32_t trial = 0; trial < after.trial_count; ++trial) {
        if (runs_again.contains(trial) || old_points.at(trial) == new_points.at(trial)) continue;
        return refuse(
            fmt::format("trial {} has completed and would have had other hyperparameters: what has "
                        "completed is not run again",
                        to_string(TrialId{after.id, trial})));
    }
    return {};
}

std::string describe(ConfigChange const& change) {
    return fmt::format("{}: {} -> {}", escape_control(change.key), to_line(change.from), to_line(change.to));
}

std::vector<ConfigChange> changes_in(Event const& event) {
    std::vector<ConfigChange> changes;
    if (!event.body->is_object()) return changes;
    for (auto const& json : event.body->value("changes", Json::array())) {
        if (!json.is_object() || !json.contains("key") || !json["key"].is_string()) continue;
        changes.push_back({json["key"], json.value("from", Json()), json.value("to", Json())});
    }
    return changes;
}

Json to_json(std::vector<ConfigChange> const& changes) {
    auto list = Json::array();
    for (auto const& change : changes)
        list.push_back({{"key", change.key}, {"from", change.from}, {"to", change.to}});
    return list;
}

}  // namespace det::experiment
