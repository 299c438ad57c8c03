#include "effect_table.hpp"

#include <det/foundation/text.hpp>
#include <det/protocol/trial_class.hpp>

#include <algorithm>
#include <vector>

namespace det::config::schema {
namespace effects {
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

std::string_view if_not_profiled(Node const& config) {
    return is_true(config, "profiling.enabled") ? "" : "profiling.enabled is not true";
}

std::string_view if_without_image(Node const& config) {
    return find(config, "environment.image") != nullptr ? "" : "the experiment runs in no container";
}

std::string_view if_rungs_are_listed(Node const& config) {
    auto const* rungs = find(config, "searcher.bracket_rungs");
    return rungs == nullptr || rungs->items().empty() ? "" : "bracket_rungs says the rungs of each bracket";
}

std::string_view if_single(Node const& config) {
    return is_text(config, "searcher.name", "single") ? "the searcher 'single' has one trial" : "";
}

std::string_view if_all_files_are_kept(Node const& config) {
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

constexpr auto us = Consumer::det_submit;
constexpr auto code = Consumer::training_code;
constexpr auto launcher = Consumer::launcher;
constexpr auto nothing = Consumer::nothing;

constexpr std::string_view no_proxy =
    "no master forwards connections; connect to the node, or through ssh -L";

// Each row names a key of the configuration, its consumer and its effect. tests/unit/config/key_tests.txt
// names the test that shows the effect. A function at the end of a row returns the reason why the key has no
// effect in an experiment, or an empty text.
constexpr KeyEffect rows[] = {
    {"name", us, "the name in lists and reports"},
    {"description", us, "shown by experiment describe"},
    {"labels", us, "shown in lists; --wckey, if the site's job_project_source is label"},
    {"workspace", us, "--wckey, if the site's job_project_source is workspace"},
    {"project", us, "--wckey, if the site's job_project_source is project"},
    {"entrypoint", us, "the command of each node or slot"},
    {"data", code, "ClusterInfo: user_data; data.__det_dtrain_args are options of horovodrun"},
    {"data.secrets", us, "values that no output shows"},
    {"hyperparameters", us, "the values of each trial are drawn from them"},
    {"searcher.name", us, "the search method and so the number of trials"},
    {"searcher.metric", us, "the metric of rungs, best checkpoints and reports"},
    {"searcher.smaller_is_better", us, "which of two metrics is better"},
    {"searcher.source_trial_id", us, "ClusterInfo: latest_checkpoint of a trial that has none of its own"},
    {"searcher.source_checkpoint_uuid", us,
     "ClusterInfo: latest_checkpoint of a trial that has none of its own"},
    {"searcher.max_length", code,
     "core_context.searcher, det_searcher_*: how long to train; the rungs of adaptive searches"},
    {"searcher.max_trials", us, "the number of trials"},
    {"searcher.max_concurrent_trials", us, "the number of tasks of the job array that run at once"},
    {"searcher.mode", us, "the brackets", if_rungs_are_listed},
    {"searcher.divisor", us, "the share of trials that a rung keeps"},
    {"searcher.max_rungs", us, "the number of rungs", if_rungs_are_listed},
    {"searcher.bracket_rungs", us, "the rungs of each bracket"},
    {"searcher.stop_once", us, "a stopped trial never continues", if_not_once},
    {"searcher.time_metric", us, "the metric that measures the training length"},
    {"searcher.max_time", us, "the training length of the last rung"},
    {"searcher.num_rungs", us, "the number of rungs"},
    {"resources.slots_per_trial", us, "the number of nodes and ranks"},
    {"resources.max_slots", us, "the number of tasks of the job array that run at once"},
    {"resources.resource_pool", us, "the partition and the options of its pool"},
    {"resources.priority", us, "the nice of the jobs: 2 for 43, 139 for 99", if_nice_is_set},
    {"resources.weight", nothing, "Slurm shares by the weights of accounts and users, not of jobs"},
    {"resources.shm_size", us, "podman's --shm-size", if_without_image},
    {"resources.devices", us, "podman's --device", if_without_image},
    {"resources.is_single_node", us, "more than one node is refused"},
    {"resources.native_parallel", nothing, "Determined no longer reads it"},
    {"environment.image", us, "the container of the entrypoint; none where the pool runs no containers"},
    {"environment.environment_variables", us, "the environment of the ranks"},
    {"environment.ports", us,
     "DET_PORT_<NAME> and DET_PORTS: the port, or a free one if it is taken on the first node"},
    {"environment.proxy_ports", us,
     "DET_PORT_<NUMBER> and DET_PORTS: the port, or a free one if it is taken on the first node"},
    {"environment.proxy_ports[].proxy_tcp", nothing, no_proxy},
    {"environment.proxy_ports[].unauthenticated", nothing, no_proxy},
    {"environment.proxy_ports[].default_service_id", nothing, no_proxy},
    {"environment.force_pull_image", us, "podman and apptainer get the image anew for each run",
     if_without_image},
    {"environment.registry_auth", us, "the file with credentials of podman and apptainer", if_without_image},
    {"environment.registry_auth.email", nothing, "registries no longer ask for it"},
    {"environment.add_capabilities", us, "options of podman and apptainer", if_without_image},
    {"environment.drop_capabilities", us, "options of podman and apptainer", if_without_image},
    {"bind_mounts", us, "mounts of the container", if_without_image},
    {"slurm.slots_per_node", us, "the number of nodes"},
    {"slurm.gpu_type", us, "the type in --gres"},
    {"slurm.sbatch_args", us, "options of sbatch"},
    {"slurm.exclusive", us, "whole nodes, or the slots of the trial only"},
    {"slurm.container", us, "an image that can't be used is an error"},
    {"slurm.launch", us, "one task per node or per slot"},
    {"slurm.mpi", us, "srun's --mpi"},
    {"slurm.trials_per_node", us, "the number of trials in a job", if_single},
    {"slurm.spare_nodes", us, "the number of nodes of a job"},
    {"slurm.forward_signals", us, "the signals that the wrapper sends to the program"},
    {"slurm.setup", us, "lines that run before the entrypoint"},
    {"slurm.working_directory", us, "where the code is unpacked"},
    {"slurm.persist", us, "directories that survive the runs", if_all_files_are_kept},
    {"slurm.preempted_exit_codes", us, "what follows the end of a run"},
    {"slurm.progress_glob", us, "which runs have made progress"},
    {"slurm.hang_timeout", us, "when a run is ended as hung"},
    {"slurm.compile_cache", us, "TORCHINDUCTOR_CACHE_DIR and TRITON_CACHE_DIR"},
    {"slurm.after", us, "sbatch --dependency, and a check at the start of each job"},
    {"slurm.after_any", us, "sbatch --dependency, and a check at the start of each job"},
    {"slurm.bad_node_memory", us, "sbatch --exclude"},
    {"slurm.event_hook", us, "a command for each event of a run, and for submissions and waiting trials"},
    {"slurm.health_check", us, "the check of a run's nodes before it starts"},
    {"slurm.nice", us, "sbatch --nice"},
    {"slurm.tensorboard", us, "event files of the metrics"},
    {"slurm.log_wandb", us, "PYTHONPATH: a module wandb that reports metrics"},
    {"slurm.log_mlflow", us, "MLFLOW_TRACKING_URI: a store that reports metrics"},
    {"slurm.checkpoint_format", us, "the files in checkpoints of a PyTorchTrial"},
    {"pbs", nothing, "the scheduler is Slurm"},
    {"checkpoint_storage.type", us, "where checkpoints are"},
    {"checkpoint_storage.save_experiment_best", us, "which checkpoints stay"},
    {"checkpoint_storage.save_trial_best", us, "which checkpoints stay"},
    {"checkpoint_storage.save_trial_latest", us, "which checkpoints stay"},
    {"checkpoint_storage.host_path", us, "where checkpoints are"},
    {"checkpoint_storage.storage_path", us, "where checkpoints are"},
    {"checkpoint_storage.propagation", nothing, "containers get the directory with rprivate"},
    {"checkpoint_storage.container_path", us, "where checkpoints of the storage 'directory' are",
     if_shared_fs},
    {"checkpoint_storage.checkpoint_path", nothing, "it is no longer used"},
    {"checkpoint_storage.tensorboard_path", nothing, "it is no longer used"},
    {"checkpoint_storage.bucket", us, "the bucket; gcs is refused"},
    {"checkpoint_storage.prefix", us, "prefix of object names"},
    {"checkpoint_storage.access_key", us, "credentials of s3"},
    {"checkpoint_storage.secret_key", us, "credentials of s3"},
    {"checkpoint_storage.endpoint_url", us, "the address of s3"},
    {"checkpoint_storage.container", us, "azure is refused"},
    {"checkpoint_storage.connection_string", us, "azure is refused"},
    {"checkpoint_storage.account_url", us, "azure is refused"},
    {"checkpoint_storage.credential", us, "azure is refused"},
    {"checkpoint_policy", code, "PyTorchTrial: whether a validation is followed by a checkpoint",
     if_no_trial_class},
    {"min_validation_period", code, "PyTorchTrial: how often it validates", if_no_trial_class},
    {"min_checkpoint_period", code, "PyTorchTrial: how often it saves", if_no_trial_class},
    {"perform_initial_validation", code, "PyTorchTrial: a validation before the first batch",
     if_no_trial_class},
    {"records_per_epoch", us, "converts a max_length in epochs; PyTorchTrial: and its periods",
     if_no_trial_class_or_epochs},
    {"scheduling_unit", code, "PyTorchTrial: how many batches a report of training metrics has",
     if_no_trial_class},
    {"max_restarts", us, "the number of restarts after failures"},
    {"preemption_timeout", us, "when a run that was asked to stop is killed"},
    {"reproducibility.experiment_seed", us, "the seeds of trials and hyperparameters"},
    {"profiling.enabled", us, "nodes sample their metrics"},
    {"profiling.begin_on_batch", us, "the batches that trial profile shows", if_not_profiled},
    {"profiling.end_after_batch", us, "the batches that trial profile shows", if_not_profiled},
    {"profiling.sync_timings", us, "timings of the Python package wait for the GPU", if_not_profiled},
    {"optimizations.aggregation_frequency", code, "PyTorchTrial: batches between two steps of the optimizer",
     if_no_trial_class},
    {"optimizations.average_aggregated_gradients", code, "PyTorchTrial: whether gradients are divided",
     if_no_trial_class},
    {"optimizations.average_training_metrics", code,
     "PyTorchTrial: whether training metrics are those of all ranks", if_no_trial_class},
    {"optimizations.gradient_compression", code, "PyTorchTrial: gradients are sent in half precision",
     if_no_trial_class},
    {"optimizations.grad_updates_size_file", code, "PyTorchTrial: the file with the sizes of gradients",
     if_no_trial_class},
    {"optimizations.mixed_precision", code, "PyTorchTrial: automatic mixed precision", if_no_trial_class},
    {"optimizations.tensor_fusion_threshold", launcher,
     "horovodrun; PyTorchTrial: the size of the buckets of gradients", if_no_trial_class_or_horovod},
    {"optimizations.tensor_fusion_cycle_time", launcher, "horovodrun", if_no_horovod},
    {"optimizations.auto_tune_tensor_fusion", launcher, "horovodrun; PyTorchTrial: finds that size",
     if_no_trial_class_or_horovod},
    {"log_policies", us, "what follows a line in a log"},
    {"log_policies[].name", us,
     "without an action the end of the run names the policy; a default one gets its pattern"},
    {"retention_policy", us, "the logs of ended trials are removed after so many days"},
    {"integrations.pachyderm", nothing,
     "det-submit takes no data from Pachyderm; name its files in the code"},
    {"integrations.webhooks", us, "slurm.event_hook finds it in the event", if_without_hook},
    {"debug", us, "messages of the Python package; horovodrun is verbose; ClusterInfo: trial.debug"},
    {"internal", nothing, "only null is accepted"},
};

}  // namespace
}  // namespace effects

std::span<KeyEffect const> effect_table() { return effects::rows; }

}  // namespace det::config::schema
