#include "effects.hpp"

#include <det/foundation/text.hpp>
#include <det/protocol/trial_class.hpp>

#include <algorithm>
#include <vector>

namespace det::config::schema {
namespace {

using yaml::Node;

/// \return The value at a path such as "slurm.working_directory"; nullptr if it is absent or null.
Node const* find(Node const& config, std::string_view path) {
    auto const* node = &config;
    for (auto const key : split(path, '.')) {
        node = node->find(key);
        if (node == nullptr || node->is_null()) return nullptr;
    }
    return node;
}

bool is_text(Node const& config, std::string_view path, std::string_view expected) {
    auto const* value = find(config, path);
    return value != nullptr && value->text() != nullptr && *value->text() == expected;
}

bool is_true(Node const& config, std::string_view path) {
    auto const* value = find(config, path);
    return value != nullptr && value->boolean() != nullptr && *value->boolean();
}

/// True if the entrypoint runs as a batch script does, once on the first node.
bool is_script(Node const& config) { return is_text(config, "slurm.launch", "script"); }

/// The words of the entrypoint: one if it is a string. A script that the entrypoint starts is not read.
std::vector<std::string> entrypoint_of(Node const& config) {
    std::vector<std::string> words;
    auto const* entrypoint = find(config, "entrypoint");
    if (entrypoint == nullptr) return words;
    if (entrypoint->text() != nullptr) words.push_back(*entrypoint->text());
    for (auto const& item : entrypoint->items())
        if (item.text() != nullptr) words.push_back(*item.text());
    return words;
}

TrialClassLaunch trial_class_launch(Node const& config) {
    return find_trial_class_launch(entrypoint_of(config));
}

/// True if determined.exec.harness trains a PyTorchTrial.
bool trains_trial_class(Node const& config) { return trial_class_launch(config) != TrialClassLaunch::none; }

/// True if horovodrun may start the ranks: the entrypoint names it, or only a trial class, which it starts
/// where Horovod is installed.
bool may_run_horovod(Node const& config) {
    return trial_class_launch(config) == TrialClassLaunch::by_name ||
           std::ranges::any_of(entrypoint_of(config),
                               [](auto const& word) { return word.find("horovod") != std::string::npos; });
}

}  // namespace

std::string_view if_not_profiled(Node const& config) {
    return is_true(config, "profiling.enabled") ? "" : "profiling.enabled is not true";
}

std::string_view if_without_image(Node const& config) {
    bool const has_container = find(config, "environment.image") != nullptr && !is_script(config);
    return has_container ? "" : "the experiment runs in no container";
}

std::string_view if_script_without_container(Node const& config) {
    return is_script(config) ? "with 'launch: script' the script itself starts containers" : "";
}

std::string_view if_script(Node const& config) {
    return is_script(config) ? "with 'launch: script' the script itself starts the steps" : "";
}

std::string_view if_script_keeps_variables(Node const& config) {
    return is_script(config) ? "with 'launch: script' the script has the variables of its job only" : "";
}

std::string_view if_script_uses_all_nodes(Node const& config) {
    return is_script(config) ? "with 'launch: script' the script uses all nodes of its job" : "";
}

std::string_view if_batch_script(Node const& config) {
    return find(config, "slurm.batch_script") != nullptr ? "the header of the batch script says it" : "";
}

std::string_view if_not_elastic(Node const& config) {
    if (find(config, "slurm.batch_script") != nullptr) return "a batch script has the nodes of its header";
    bool const is_range = find(config, "resources.slots_per_trial.max") != nullptr;
    return is_range ? "" : "resources.slots_per_trial is no range {min: ..., max: ...}";
}

std::string_view if_nothing_is_staged(Node const& config) {
    auto const* stage = find(config, "slurm.stage");
    return stage != nullptr && !stage->items().empty() ? "" : "slurm.stage names no file";
}

std::string_view if_rungs_are_listed(Node const& config) {
    auto const* rungs = find(config, "searcher.bracket_rungs");
    return rungs == nullptr || rungs->items().empty() ? "" : "bracket_rungs says the rungs of each bracket";
}

std::string_view if_script_runs_in_place(Node const& config) {
    return find(config, "slurm.batch_script") != nullptr ? "a batch script runs where it was submitted" : "";
}

std::string_view if_single_or_script(Node const& config) {
    if (is_script(config)) return "with 'launch: script' each trial has a job of its own";
    return is_text(config, "searcher.name", "single") ? "the searcher 'single' has one trial" : "";
}

std::string_view if_all_files_are_kept(Node const& config) {
    if (auto const reason = if_script_runs_in_place(config); !reason.empty()) return reason;
    return is_text(config, "slurm.working_directory", "shared")
               ? "with 'working_directory: shared' all files are kept"
               : "";
}

/// In det-submit a trial that stops at a rung never continues, because it would wait in Slurm's queue again.
/// Determined continues it with stop_once: false.
std::string_view if_not_once(Node const& config) {
    auto const* once = find(config, "searcher.stop_once");
    bool const is_false = once != nullptr && once->boolean() != nullptr && !*once->boolean();
    return is_false ? "a stopped trial never continues here, as with stop_once: true" : "";
}

std::string_view if_shared_fs(Node const& config) {
    return is_text(config, "checkpoint_storage.type", "shared_fs") ? "it is no longer used for shared_fs"
                                                                   : "";
}

std::string_view if_nice_is_set(Node const& config) {
    constexpr std::int64_t default_level = 42;
    if (find(config, "slurm.nice") != nullptr) return "slurm.nice is set";
    auto const* level = find(config, "resources.priority");
    if (level == nullptr || level->integer() == nullptr || *level->integer() >= default_level) return "";
    return "Slurm lets no user put a job before equal ones; a number above 42 puts it behind them";
}

std::string_view if_without_hook(Node const& config) {
    return find(config, "slurm.event_hook") != nullptr
               ? ""
               : "only the command of slurm.event_hook gets it, which is not set";
}

std::string_view if_no_horovod(Node const& config) {
    return may_run_horovod(config) ? ""
                                   : "only det-launch horovod reads it, which the entrypoint does not name";
}

std::string_view if_no_trial_class(Node const& config) {
    return trains_trial_class(config)
               ? ""
               : "only a trial class reads it, and the entrypoint has no --trial MODULE:CLASS";
}

std::string_view if_no_trial_class_or_horovod(Node const& config) {
    bool const is_read = trains_trial_class(config) || may_run_horovod(config);
    return is_read ? ""
                   : "only a trial class and det-launch horovod read it, and the entrypoint names neither";
}

std::string_view if_no_trial_class_or_epochs(Node const& config) {
    bool const is_read = trains_trial_class(config) || find(config, "searcher.max_length.epochs") != nullptr;
    return is_read ? "" : "no length is in epochs, and the entrypoint has no --trial MODULE:CLASS";
}

}  // namespace det::config::schema
