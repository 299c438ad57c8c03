#include <det/protocol/trial_class.hpp>

#include <algorithm>

#include "../check.hpp"
#include "assign.hpp"
#include "effects.hpp"
#include "shared_rules.hpp"
#include "tables.hpp"

namespace det::config::schema {
namespace {

using Config = ExperimentConfig;

constexpr std::string_view policy_choices[] = {"best", "all", "none"};
constinit Type const checkpoint_policy = choice_of(policy_choices);

constinit Type const label_map{.shape = Shape::map, .item = &anything};
constexpr Type const* label_alternatives[] = {&text_list, &label_map};

/// {a: true, b: true} is an old form of [a, b] in Determined.
yaml::Node labels_as_list(yaml::Node const& value) {
    if (!value.is_map()) return value;
    yaml::Node::List names;
    for (auto const& entry : value.entries())
        names.emplace_back(yaml::Node::Scalar(entry.key), entry.key_location);
    return yaml::Node(std::move(names), value.location());
}

/// \return The command of a string, or the items of a list.
std::vector<std::string> entrypoint_items(yaml::Node const& value) {
    std::vector<std::string> items;
    if (value.text() != nullptr) items.push_back(*value.text());
    if (value.is_list()) {
        for (auto const& item : value.items())
            items.push_back(item.text() == nullptr ? std::string() : *item.text());
    }
    return items;
}

void check_entrypoint(yaml::Node const& value, Path const& path, Checker& checker) {
    bool const is_empty = value.is_list() ? value.items().empty() : value.text()->empty();
    if (is_empty) checker.refuse_value(value, path.text() + " is empty", "write the command to run");
    if (!checker.is_for_creation()) return;
    if (find_trial_class_launch(entrypoint_items(value)) != TrialClassLaunch::by_deepspeed) return;
    checker.refuse(codes::not_supported, path.text() + " starts a DeepSpeedTrial, which is not supported",
                   "write a training script that uses determined.core, and start it by "
                   "'python3 -m determined.launch.deepspeed python3 train.py'",
                   value.location());
}

constexpr Type const* entrypoint_alternatives[] = {&text, &text_list};

constexpr Key data_keys[] = {
    secret({"secrets", anything, "", "values that are never printed", no_field,
            by_det_submit("values that no output shows")}),
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
    {"batches", non_negative_integer, "", "length in batches"},
    {"records", non_negative_integer, "", "length in records"},
    {"epochs", non_negative_integer, "", "length in epochs"},
};
constexpr Key positive_length_keys[] = {
    {"batches", positive_integer, "", "length in batches"},
    {"records", positive_integer, "", "length in records"},
    {"epochs", positive_integer, "", "length in epochs"},
};
constinit Type const positive_length{
    .shape = Shape::object, .keys = positive_length_keys, .merge = Merge::atomic, .rule = require_one_unit};
constexpr Type const* max_length_alternatives[] = {&non_negative_integer, &positive_length};

constexpr Key reproducibility_keys[] = {
    {"experiment_seed", non_negative_integer, "",
     "seed of the trials and of hyperparameter sampling; default: the present time",
     into<&Reproducibility::experiment_seed>, by_det_submit("the seeds of trials and hyperparameters")},
};

constinit Type const only_null{.shape = Shape::either, .expected = "null"};

/// Rules that involve more than one section.
void check_whole(yaml::Node const& value, Path const& path, Checker& checker) {
    require_grid_counts(value, path, checker);
    if (checker.is_for_creation()) require_project_with_workspace(value, checker);
}

constexpr Key experiment_keys[] = {
    required_when_merged({"name", text, "", "the name that lists show", into<&Config::name>,
                          by_det_submit("the name in lists and reports")}),
    {"description", text, "", "a description in one sentence", into<&Config::description>,
     by_det_submit("shown by experiment describe")},
    {"labels", labels, "[]", "labels for searching", into<&Config::labels>,
     by_det_submit("shown in lists; --wckey, if the site's job_project_source is label")},
    {"workspace", text, R"("")", "the workspace of the project", into<&Config::workspace>,
     by_det_submit("--wckey, if the site's job_project_source is workspace")},
    {"project", text, R"("")", "the project it belongs to", into<&Config::project>,
     by_det_submit("--wckey, if the site's job_project_source is project")},
    required_to_create({"entrypoint", entrypoint, "",
                        "the command to run: a string for the shell, or a list of arguments",
                        into<&Config::entrypoint>, by_det_submit("the command of each node or slot")}),
    {"data", data, "{}", "any values; the training code receives them", into<&Config::data>,
     by_training_code("ClusterInfo: user_data; data.__det_dtrain_args are options of horovodrun")},
    required_when_merged(
        {"hyperparameters", hyperparameters, "{}", "a map of names to values, search ranges or nested maps",
         into<&Config::hyperparameters>, by_det_submit("the values of each trial are drawn from them")}),
    required_when_merged({"searcher", searcher, "", "the search method: {name: single, metric: ...}",
                          into<&Config::searcher>}),
    {"resources", resources, "{}", "slots, pool, devices", into<&Config::resources>},
    {"environment", environment, "{}", "environment variables, image, ports", into<&Config::environment>},
    {"bind_mounts", bind_mounts, "[]", "host directories that the container sees", into<&Config::bind_mounts>,
     by_det_submit("mounts of the container", if_without_image)},
    {"slurm", slurm, "{}", "settings for Slurm", into<&Config::slurm>},
    {"pbs", pbs, "{}", "settings for PBS; not used on Slurm", no_field, no_effect("the scheduler is Slurm")},
    required_when_merged({"checkpoint_storage", checkpoint_storage, "",
                          "where checkpoints go: {type: shared_fs, host_path: ...}",
                          into<&Config::checkpoint_storage>}),
    {"checkpoint_policy", checkpoint_policy, "best",
     "when to checkpoint after a validation: best so far, all, none", into<&Config::checkpoint_policy>,
     by_training_code("PyTorchTrial: whether a validation is followed by a checkpoint", if_no_trial_class)},
    {"min_validation_period", length, "{batches: 0}",
     "maximum training length between validations; 0: no limit", into<&Config::min_validation_period>,
     by_training_code("PyTorchTrial: how often it validates", if_no_trial_class)},
    {"min_checkpoint_period", length, "{batches: 0}",
     "maximum training length between checkpoints; 0: no limit", into<&Config::min_checkpoint_period>,
     by_training_code("PyTorchTrial: how often it saves", if_no_trial_class)},
    {"perform_initial_validation", boolean, "false", "validate before the first batch",
     into<&Config::perform_initial_validation>,
     by_training_code("PyTorchTrial: a validation before the first batch", if_no_trial_class)},
    {"records_per_epoch", non_negative_integer, "0", "number of records in an epoch, for lengths in epochs",
     into<&Config::records_per_epoch>,
     by_det_submit("converts a max_length in epochs; PyTorchTrial: and its periods",
                   if_no_trial_class_or_epochs)},
    {"scheduling_unit", positive_integer, "100", "number of batches between two checks for preemption",
     into<&Config::scheduling_unit>,
     by_training_code("PyTorchTrial: how many batches a report of training metrics has", if_no_trial_class)},
    {"max_restarts", non_negative_integer, "5", "number of restarts of a failed trial",
     into<&Config::max_restarts>, by_det_submit("the number of restarts after failures")},
    {"preemption_timeout", non_negative_integer, "", "seconds a preempted trial has to stop",
     into<&Config::preemption_timeout_seconds>, by_det_submit("when a run that was asked to stop is killed")},
    required_when_merged(
        {"reproducibility", reproducibility, "{}", "the random seed", into<&Config::reproducibility>}),
    {"profiling", profiling, "{}", "which batches are profiled", into<&Config::profiling>},
    {"optimizations", optimizations, "{}", "for Determined's trial classes"},
    {"log_policies", log_policies, default_log_policies, "actions for log lines that match a pattern",
     into<&Config::log_policies>, by_det_submit("what follows a line in a log")},
    {"retention_policy", retention_policy, "", "how long to keep logs", no_field,
     by_det_submit("the logs of ended trials are removed after so many days")},
    {"integrations", integrations, "", "Pachyderm and webhooks"},
    {"debug", boolean, "false", "true: more detail in the log", into<&Config::debug>,
     by_det_submit("messages of the Python package; horovodrun is verbose; ClusterInfo: trial.debug")},
    {"security", security, "", "", no_field, ignored("Determined no longer reads it")},
    {"tensorboard_storage", tensorboard_storage, "", "", no_field,
     ignored("TensorBoard files go where checkpoints go")},
    {"data_layer", anything, "", "", no_field, ignored("Determined has removed the data layer")},
    {"internal", only_null, "", "accepted where it is null", no_field, no_effect("only null is accepted")},
};

}  // namespace

constinit Type const labels{.shape = Shape::either,
                            .alternatives = label_alternatives,
                            .merge = Merge::as_set,
                            .normalise = labels_as_list};
constinit Type const entrypoint{.shape = Shape::either,
                                .alternatives = entrypoint_alternatives,
                                .merge = Merge::atomic,
                                .rule = check_entrypoint};
constinit Type const data{.shape = Shape::object, .keys = data_keys, .allows_other_keys = true};
constinit Type const length{
    .shape = Shape::object, .keys = length_keys, .merge = Merge::atomic, .rule = require_one_unit};
constinit Type const max_length{
    .shape = Shape::either, .alternatives = max_length_alternatives, .merge = Merge::atomic};
constinit Type const reproducibility = object_of(reproducibility_keys);
constinit Type const experiment{.shape = Shape::object, .keys = experiment_keys, .rule = check_whole};

}  // namespace det::config::schema
