#include <algorithm>

#include "../check.hpp"
#include "assign.hpp"
#include "shared_rules.hpp"
#include "tables.hpp"

namespace det::config::schema {
namespace {

using Config = ExperimentConfig;

constexpr std::string_view policy_choices[] = {"best", "all", "none"};
constinit Type const checkpoint_policy = choice_of(policy_choices);

constinit Type const label_map{.shape = Shape::map, .item = &anything};
constexpr Type const* label_alternatives[] = {&text_list, &label_map};

/// {a: true, b: true} is how Determined once wrote [a, b].
yaml::Node labels_as_list(yaml::Node const& value) {
    if (!value.is_map()) return value;
    yaml::Node::List names;
    for (auto const& entry : value.entries())
        names.emplace_back(yaml::Node::Scalar(entry.key), entry.key_location);
    return yaml::Node(std::move(names), value.location());
}

void refuse_empty_entrypoint(yaml::Node const& value, Path const& path, Checker& checker) {
    bool const is_empty = value.is_list() ? value.items().empty() : value.text()->empty();
    if (is_empty) checker.refuse_value(value, path.text() + " is empty", "write the command to run");
}

constexpr Type const* entrypoint_alternatives[] = {&text, &text_list};

constexpr Key data_keys[] = {
    secret({"secrets", anything, "", "values that are never shown"}),
};

void require_one_unit(yaml::Node const& value, Path const& path, Checker& checker) {
    auto const& entries = value.entries();
    auto const given =
        std::count_if(entries.begin(), entries.end(), [](auto const& e) { return !e.value.is_null(); });
    if (given == 1) return;
    checker.refuse_value(
        value, path.text() + R"( must have one key: "batches", "records" or "epochs")",
        "for example {batches: 100}",
        R"(a length object must have one attribute named "batches", "records", or "epochs")");
}

constexpr Key length_keys[] = {
    {"batches", count_from_zero, "", "in batches"},
    {"records", count_from_zero, "", "in records"},
    {"epochs", count_from_zero, "", "in epochs"},
};
constexpr Key positive_length_keys[] = {
    {"batches", count_from_one, "", "in batches"},
    {"records", count_from_one, "", "in records"},
    {"epochs", count_from_one, "", "in epochs"},
};
constinit Type const positive_length{
    .shape = Shape::object, .keys = positive_length_keys, .merge = Merge::atomic, .rule = require_one_unit};
constexpr Type const* max_length_alternatives[] = {&count_from_zero, &positive_length};

constexpr Key reproducibility_keys[] = {
    {"experiment_seed", count_from_zero, "",
     "every trial's seed and every drawn hyperparameter follow from it; default: the time",
     into<&Reproducibility::experiment_seed>},
};

constinit Type const only_null{.shape = Shape::either, .expected = "null"};

/// Rules that look at more than one section.
void check_whole(yaml::Node const& value, Path const& path, Checker& checker) {
    require_grid_counts(value, path, checker);
    if (checker.is_for_creation()) require_project_with_workspace(value, checker);
}

constexpr Key experiment_keys[] = {
    required_when_merged({"name", text, "", "what lists show", into<&Config::name>}),
    {"description", text, "", "a sentence for people", into<&Config::description>},
    {"labels", labels, "[]", "words to find it by", into<&Config::labels>},
    {"workspace", text, R"("")", "the group of projects it belongs to", into<&Config::workspace>},
    {"project", text, R"("")", "the project it belongs to", into<&Config::project>},
    required_to_create({"entrypoint", entrypoint, "",
                        "the command to run: a string for the shell, or a list of arguments",
                        into<&Config::entrypoint>}),
    {"data", data, "{}", "free form, handed to the training code", into<&Config::data>},
    required_when_merged({"hyperparameters", hyperparameters, "{}",
                          "by name: values, ranges to search, groups of these",
                          into<&Config::hyperparameters>}),
    required_when_merged({"searcher", searcher, "", "which trials are run: {name: single, metric: ...}",
                          into<&Config::searcher>}),
    {"resources", resources, "{}", "slots, pool, devices", into<&Config::resources>},
    {"environment", environment, "{}", "variables, image, ports", into<&Config::environment>},
    {"bind_mounts", bind_mounts, "[]", "directories of the host inside the container",
     into<&Config::bind_mounts>},
    {"slurm", slurm, "{}", "what only Slurm knows", into<&Config::slurm>},
    {"pbs", pbs, "{}", "read so that one file serves both"},
    required_when_merged({"checkpoint_storage", checkpoint_storage, "",
                          "where checkpoints go: {type: shared_fs, host_path: ...}",
                          into<&Config::checkpoint_storage>}),
    {"checkpoint_policy", checkpoint_policy, "best",
     "after a validation: checkpoint if best so far, always, never", into<&Config::checkpoint_policy>},
    {"min_validation_period", length, "{batches: 0}", "validate at least so often; 0: when needed",
     into<&Config::min_validation_period>},
    {"min_checkpoint_period", length, "{batches: 0}", "checkpoint at least so often; 0: when needed",
     into<&Config::min_checkpoint_period>},
    {"perform_initial_validation", boolean, "false", "validate before the first batch",
     into<&Config::perform_initial_validation>},
    {"records_per_epoch", count_from_zero, "0", "for lengths in epochs", into<&Config::records_per_epoch>},
    {"scheduling_unit", count_from_one, "100", "batches between two looks at preemption",
     into<&Config::scheduling_unit>},
    {"max_restarts", count_from_zero, "5", "how often a failed trial starts again",
     into<&Config::max_restarts>},
    {"preemption_timeout", count_from_zero, "", "seconds that a preempted trial may take to stop",
     into<&Config::preemption_timeout_seconds>},
    required_when_merged(
        {"reproducibility", reproducibility, "{}", "the seed", into<&Config::reproducibility>}),
    {"profiling", profiling, "{}", "which batches are profiled", into<&Config::profiling>},
    {"optimizations", optimizations, "{}", "for Determined's trial classes"},
    {"log_policies", log_policies, default_log_policies, "what to do about lines of the log",
     into<&Config::log_policies>},
    {"retention_policy", retention_policy, "", "how long logs are kept"},
    {"integrations", integrations, "", "Pachyderm and webhooks"},
    {"debug", boolean, "false", "more words in the log", into<&Config::debug>},
    ignored("Determined reads it no more", {"security", security, "", ""}),
    ignored("TensorBoard files go where checkpoints go",
            {"tensorboard_storage", tensorboard_storage, "", ""}),
    ignored("Determined has removed the data layer", {"data_layer", anything, "", ""}),
    {"internal", only_null, "", "accepted where it is null"},
};

}  // namespace

constinit Type const labels{.shape = Shape::either,
                            .alternatives = label_alternatives,
                            .merge = Merge::as_set,
                            .normalise = labels_as_list};
constinit Type const entrypoint{.shape = Shape::either,
                                .alternatives = entrypoint_alternatives,
                                .merge = Merge::atomic,
                                .rule = refuse_empty_entrypoint};
constinit Type const data{.shape = Shape::object, .keys = data_keys, .allows_other_keys = true};
constinit Type const length{
    .shape = Shape::object, .keys = length_keys, .merge = Merge::atomic, .rule = require_one_unit};
constinit Type const max_length{
    .shape = Shape::either, .alternatives = max_length_alternatives, .merge = Merge::atomic};
constinit Type const reproducibility = object_of(reproducibility_keys);
constinit Type const experiment{.shape = Shape::object, .keys = experiment_keys, .rule = check_whole};

}  // namespace det::config::schema
