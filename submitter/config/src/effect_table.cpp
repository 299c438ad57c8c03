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

constexpr std::string_view periods =
    "python_pytorch_trial/test_the_configuration_says_how_often_to_validate_and_save";
constexpr std::string_view chiefs_metrics =
    "python_pytorch_optimizations/"
    "test_training_metrics_may_be_those_of_the_chief_and_sizes_of_gradients_are_written";
constexpr std::string_view unread_here = "config/keys_without_effect_are_a_warning_with_the_reason";
constexpr std::string_view storages = "plan/what_can_not_be_run_yet_is_said_all_at_once";
constexpr std::string_view options_of_runtimes = "launch/each_runtime_gets_all_options_that_it_supports";
constexpr std::string_view s3 =
    "s3_storage/a_preempted_training_resumes_from_its_bucket_and_no_output_shows_the_keys";
constexpr std::string_view kept = "retention/the_example_of_determineds_documentation_holds";
constexpr std::string_view shown = "cli/names_descriptions_and_labels_change_and_are_shown";
constexpr std::string_view wckey = "plan/vector_70_the_project_is_the_wckey";
constexpr std::string_view rungs = "search/brackets_are_those_of_determined";
constexpr std::string_view required_container =
    "plan/a_container_that_is_required_where_none_runs_is_an_error";
constexpr std::string_view image = "plan/an_image_becomes_a_container_of_the_pools_runtime";
constexpr std::string_view variables_test =
    "launch/variables_of_det_submit_override_the_users_which_override_the_jobs";
constexpr std::string_view credentials = "launch/credentials_are_a_file_in_the_runtimes_form";
constexpr std::string_view warm_start =
    "launch/a_trial_starts_from_the_source_until_it_has_its_own_checkpoint";
constexpr std::string_view ports = "launch/runs_that_share_a_node_get_different_ports";
constexpr std::string_view no_proxy =
    "no master forwards connections; connect to the node, or through ssh -L";
constexpr std::string_view horovod = "launch/horovodrun_gets_the_configurations_optimizations";
constexpr std::string_view throttled = "plan/trials_are_one_array_throttled_as_the_searcher_says";

// Each row names a key of the configuration, its consumer, its effect, and the test that shows the effect. A
// function at the end of a row returns the reason why the key has no effect in an experiment, or an empty
// text.
constexpr KeyEffect rows[] = {
    {"name", us, "the name in lists and reports", shown},
    {"description", us, "shown by experiment describe", shown},
    {"labels", us, "shown in lists; --wckey, if the site's job_project_source is label", shown},
    {"workspace", us, "--wckey, if the site's job_project_source is workspace", wckey},
    {"project", us, "--wckey, if the site's job_project_source is project", wckey},
    {"entrypoint", us, "the command of each node or slot",
     "launch/the_step_runs_the_wrapper_on_every_slot_or_on_every_node"},
    {"data", code, "ClusterInfo: user_data; data.__det_dtrain_args are options of horovodrun",
     "python_core_trial/test_the_programs_data_is_given_to_it"},
    {"data.secrets", us, "values that no output shows", "cli/secrets_stay_in_the_file_that_the_user_wrote"},
    {"hyperparameters", us, "the values of each trial are drawn from them",
     "launch/each_trial_of_a_search_has_its_own_hyperparameters"},
    {"searcher.name", us, "the search method and so the number of trials", throttled},
    {"searcher.metric", us, "the metric of rungs, best checkpoints and reports",
     "search/a_report_without_the_searchers_metric_is_an_error_that_names_the_others"},
    {"searcher.smaller_is_better", us, "which of two metrics is better", kept},
    {"searcher.source_trial_id", us, "ClusterInfo: latest_checkpoint of a trial that has none of its own",
     warm_start},
    {"searcher.source_checkpoint_uuid", us,
     "ClusterInfo: latest_checkpoint of a trial that has none of its own", warm_start},
    {"searcher.max_length", code,
     "core_context.searcher, det_searcher_*: how long to train; the rungs of adaptive searches",
     "python_core_trial/test_a_program_asks_how_many_batches_are_left"},
    {"searcher.max_trials", us, "the number of trials", throttled},
    {"searcher.max_concurrent_trials", us, "the number of tasks of the job array that run at once",
     throttled},
    {"searcher.mode", us, "the brackets", rungs, if_rungs_are_listed},
    {"searcher.divisor", us, "the share of trials that a rung keeps", rungs},
    {"searcher.max_rungs", us, "the number of rungs", rungs, if_rungs_are_listed},
    {"searcher.bracket_rungs", us, "the rungs of each bracket",
     "search/configured_bracket_rungs_replace_the_mode"},
    {"searcher.stop_once", us, "a stopped trial never continues", unread_here, if_not_once},
    {"searcher.time_metric", us, "the metric that measures the training length",
     "search/the_time_of_a_report_is_found_in_this_order"},
    {"searcher.max_time", us, "the training length of the last rung",
     "search/rung_lengths_are_those_of_determined"},
    {"searcher.num_rungs", us, "the number of rungs", "search/async_halving_has_one_bracket"},
    {"resources.slots_per_trial", us, "the number of nodes and ranks", "plan/slots_become_whole_nodes"},
    {"resources.max_slots", us, "the number of tasks of the job array that run at once",
     "cli/max_slots_limits_running_tasks_where_slurm_permits"},
    {"resources.resource_pool", us, "the partition and the options of its pool",
     "plan/what_a_pool_says_is_asked_of_sbatch"},
    {"resources.priority", us, "the nice of the jobs: 2 for 43, 139 for 99",
     "plan/a_priority_below_the_default_is_a_nice", if_nice_is_set},
    {"resources.weight", nothing, "Slurm shares by the weights of accounts and users, not of jobs",
     unread_here},
    {"resources.shm_size", us, "podman's --shm-size", options_of_runtimes, if_without_image},
    {"resources.devices", us, "podman's --device", options_of_runtimes, if_without_image},
    {"resources.is_single_node", us, "more than one node is refused",
     "plan/what_must_be_on_a_single_node_is_refused_where_it_needs_two"},
    {"resources.native_parallel", nothing, "Determined no longer reads it", unread_here},
    {"environment.image", us, "the container of the entrypoint; none where the pool runs no containers",
     image},
    {"environment.environment_variables", us, "the environment of the ranks", variables_test},
    {"environment.ports", us,
     "DET_PORT_<NAME> and DET_PORTS: the port, or a free one if it is taken on the first node", ports},
    {"environment.proxy_ports", us,
     "DET_PORT_<NUMBER> and DET_PORTS: the port, or a free one if it is taken on the first node", ports},
    {"environment.proxy_ports[].proxy_tcp", nothing, no_proxy, unread_here},
    {"environment.proxy_ports[].unauthenticated", nothing, no_proxy, unread_here},
    {"environment.proxy_ports[].default_service_id", nothing, no_proxy, unread_here},
    {"environment.force_pull_image", us, "podman and apptainer get the image anew for each run",
     options_of_runtimes, if_without_image},
    {"environment.registry_auth", us, "the file with credentials of podman and apptainer", credentials,
     if_without_image},
    {"environment.registry_auth.email", nothing, "registries no longer ask for it", unread_here},
    {"environment.add_capabilities", us, "options of podman and apptainer", options_of_runtimes,
     if_without_image},
    {"environment.drop_capabilities", us, "options of podman and apptainer", options_of_runtimes,
     if_without_image},
    {"bind_mounts", us, "mounts of the container", image, if_without_image},
    {"slurm.slots_per_node", us, "the number of nodes",
     "plan/slots_per_node_of_a_configuration_are_at_most_those_of_the_nodes"},
    {"slurm.gpu_type", us, "the type in --gres", "plan/vector_67_a_type_of_gpu_is_asked_for_by_name"},
    {"slurm.sbatch_args", us, "options of sbatch", "plan/the_users_options_come_last_each_in_one_word"},
    {"slurm.exclusive", us, "whole nodes, or the slots of the trial only",
     "plan/a_trial_on_a_shared_node_asks_for_its_slots_and_their_share"},
    {"slurm.container", us, "an image that can't be used is an error", required_container},
    {"slurm.launch", us, "one task per node or per slot",
     "launch/the_step_runs_the_wrapper_on_every_slot_or_on_every_node"},
    {"slurm.mpi", us, "srun's --mpi", "launch/the_step_runs_the_wrapper_on_every_slot_or_on_every_node"},
    {"slurm.trials_per_node", us, "the number of trials in a job",
     "plan/small_trials_share_nodes_as_far_as_slots_and_searcher_allow", if_single},
    {"slurm.spare_nodes", us, "the number of nodes of a job",
     "plan/more_trials_to_a_node_than_fit_and_more_spare_nodes_than_there_are_are_refused"},
    {"slurm.forward_signals", us, "the signals that the wrapper sends to the program",
     "launch/a_shell_in_front_of_the_program_survives_and_sees_its_exit_code"},
    {"slurm.setup", us, "lines that run before the entrypoint",
     "launch/setup_lines_run_before_the_startup_hook_inside_the_container"},
    {"slurm.working_directory", us, "where the code is unpacked",
     "trial_files/a_program_resumes_from_its_own_file_in_the_shared_working_directory"},
    {"slurm.persist", us, "directories that survive the runs",
     "trial_files/persistent_directories_survive_in_a_node_local_working_directory", if_all_files_are_kept},
    {"slurm.preempted_exit_codes", us, "what follows the end of a run",
     "launch/without_a_notice_a_preempted_exit_code_is_free_only_with_progress"},
    {"slurm.progress_glob", us, "which runs have made progress", "launch/files_that_change_are_progress"},
    {"slurm.hang_timeout", us, "when a run is ended as hung",
     "launch/a_run_that_never_reports_hangs_when_the_timeout_has_passed_and_not_before"},
    {"slurm.compile_cache", us, "TORCHINDUCTOR_CACHE_DIR and TRITON_CACHE_DIR",
     "launch/compiled_kernels_survive_the_runs_of_an_experiment"},
    {"slurm.after", us, "sbatch --dependency, and a check at the start of each job",
     "launch/a_job_starts_after_the_good_end_of_its_dependencies"},
    {"slurm.after_any", us, "sbatch --dependency, and a check at the start of each job",
     "launch/a_job_starts_after_the_good_end_of_its_dependencies"},
    {"slurm.bad_node_memory", us, "sbatch --exclude",
     "cli/nodes_on_which_runs_failed_are_left_out_for_some_hours"},
    {"slurm.event_hook", us, "a command for each event of a run, and for submissions and waiting trials",
     "cli/waiting_trials_that_are_paused_or_ended_are_events_once"},
    {"slurm.health_check", us, "the check of a run's nodes before it starts",
     "launch/a_run_starts_without_a_node_that_fails_the_health_check"},
    {"slurm.nice", us, "sbatch --nice", "plan/a_priority_below_the_default_is_a_nice"},
    {"slurm.tensorboard", us, "event files of the metrics",
     "python_tensorboard/test_metrics_are_written_as_event_files"},
    {"slurm.log_wandb", us, "PYTHONPATH: a module wandb that reports metrics",
     "python_wandb/test_a_published_training_loop_reports_its_metrics"},
    {"slurm.log_mlflow", us, "MLFLOW_TRACKING_URI: a store that reports metrics",
     "python_mlflow/test_a_published_training_loop_reports_its_metrics"},
    {"pbs", nothing, "the scheduler is Slurm", unread_here},
    {"checkpoint_storage.type", us, "where checkpoints are", storages},
    {"checkpoint_storage.save_experiment_best", us, "which checkpoints stay", kept},
    {"checkpoint_storage.save_trial_best", us, "which checkpoints stay", kept},
    {"checkpoint_storage.save_trial_latest", us, "which checkpoints stay", kept},
    {"checkpoint_storage.host_path", us, "where checkpoints are", "cli/the_spec_has_what_jobs_need"},
    {"checkpoint_storage.storage_path", us, "where checkpoints are", "cli/the_spec_has_what_jobs_need"},
    {"checkpoint_storage.propagation", nothing, "containers get the directory with rprivate", unread_here},
    {"checkpoint_storage.container_path", us, "where checkpoints of the storage 'directory' are",
     "plan/a_directory_for_checkpoints_has_one_name_inside_and_outside_of_a_container", if_shared_fs},
    {"checkpoint_storage.checkpoint_path", nothing, "it is no longer used", unread_here},
    {"checkpoint_storage.tensorboard_path", nothing, "it is no longer used", unread_here},
    {"checkpoint_storage.bucket", us, "the bucket; gcs is refused", s3},
    {"checkpoint_storage.prefix", us, "prefix of object names", s3},
    {"checkpoint_storage.access_key", us, "credentials of s3", s3},
    {"checkpoint_storage.secret_key", us, "credentials of s3", s3},
    {"checkpoint_storage.endpoint_url", us, "the address of s3", s3},
    {"checkpoint_storage.container", us, "azure is refused", storages},
    {"checkpoint_storage.connection_string", us, "azure is refused", storages},
    {"checkpoint_storage.account_url", us, "azure is refused", storages},
    {"checkpoint_storage.credential", us, "azure is refused", storages},
    {"checkpoint_policy", code, "PyTorchTrial: whether a validation is followed by a checkpoint", periods,
     if_no_trial_class},
    {"min_validation_period", code, "PyTorchTrial: how often it validates", periods, if_no_trial_class},
    {"min_checkpoint_period", code, "PyTorchTrial: how often it saves", periods, if_no_trial_class},
    {"perform_initial_validation", code, "PyTorchTrial: a validation before the first batch",
     "python_pytorch_trial/test_the_configuration_says_when_to_report_and_validate", if_no_trial_class},
    {"records_per_epoch", us, "converts a max_length in epochs; PyTorchTrial: and its periods",
     "plan/a_length_that_cannot_be_converted_to_batches_is_a_warning", if_no_trial_class_or_epochs},
    {"scheduling_unit", code, "PyTorchTrial: how many batches a report of training metrics has",
     "python_pytorch_trial/test_the_configuration_says_when_to_report_and_validate", if_no_trial_class},
    {"max_restarts", us, "the number of restarts after failures",
     "launch/a_failed_step_is_restarted_in_place_until_max_restarts"},
    {"preemption_timeout", us, "when a run that was asked to stop is killed",
     "launch/a_pause_asks_once_and_kills_after_the_timeout"},
    {"reproducibility.experiment_seed", us, "the seeds of trials and hyperparameters",
     "search/another_seed_draws_other_trials"},
    {"profiling.enabled", us, "nodes sample their metrics",
     "launch/nodes_sample_their_metrics_if_the_configuration_wants_it"},
    {"profiling.begin_on_batch", us, "the batches that trial profile shows",
     "cli/only_the_wanted_batches_count", if_not_profiled},
    {"profiling.end_after_batch", us, "the batches that trial profile shows",
     "cli/only_the_wanted_batches_count", if_not_profiled},
    {"profiling.sync_timings", us, "timings of the Python package wait for the GPU",
     "python_core_trial/test_spans_wait_for_the_gpu", if_not_profiled},
    {"optimizations.aggregation_frequency", code, "PyTorchTrial: batches between two steps of the optimizer",
     "python_pytorch_optimizations/test_a_window_of_batches_is_a_larger_batch", if_no_trial_class},
    {"optimizations.average_aggregated_gradients", code, "PyTorchTrial: whether gradients are divided",
     "python_pytorch_optimizations/test_gradients_of_a_window_may_be_summed", if_no_trial_class},
    {"optimizations.average_training_metrics", code,
     "PyTorchTrial: whether training metrics are those of all ranks", chiefs_metrics, if_no_trial_class},
    {"optimizations.gradient_compression", code, "PyTorchTrial: gradients are sent in half precision",
     "python_pytorch_optimizations/test_compressed_gradients_train_almost_the_same", if_no_trial_class},
    {"optimizations.grad_updates_size_file", code, "PyTorchTrial: the file with the sizes of gradients",
     chiefs_metrics, if_no_trial_class},
    {"optimizations.mixed_precision", code, "PyTorchTrial: automatic mixed precision",
     "python_pytorch_optimizations/test_mixed_precision_trains_on_the_cpu", if_no_trial_class},
    {"optimizations.tensor_fusion_threshold", launcher,
     "horovodrun; PyTorchTrial: the size of the buckets of gradients", horovod, if_no_trial_class_or_horovod},
    {"optimizations.tensor_fusion_cycle_time", launcher, "horovodrun", horovod, if_no_horovod},
    {"optimizations.auto_tune_tensor_fusion", launcher, "horovodrun; PyTorchTrial: finds that size",
     "python_pytorch_optimizations/test_the_size_of_buckets_is_found_in_the_first_steps",
     if_no_trial_class_or_horovod},
    {"log_policies", us, "what follows a line in a log", "launch/a_log_line_can_forbid_the_restart"},
    {"log_policies[].name", us,
     "without an action the end of the run names the policy; a default one gets its pattern",
     "launch/a_log_line_without_an_action_is_named"},
    {"retention_policy", us, "the logs of ended trials are removed after so many days",
     "retention/logs_of_an_ended_trial_are_removed_after_their_days"},
    {"integrations.pachyderm", nothing, "det-submit takes no data from Pachyderm; name its files in the code",
     unread_here},
    {"integrations.webhooks", us, "slurm.event_hook finds it in the event",
     "launch/each_event_of_a_trial_calls_the_hook", if_without_hook},
    {"debug", us, "messages of the Python package; horovodrun is verbose; ClusterInfo: trial.debug",
     "python_core_trial/test_debug_shows_the_messages_of_the_package"},
    {"internal", nothing, "only null is accepted", "config/every_key_of_determined_is_known"},
};

}  // namespace
}  // namespace effects

std::span<KeyEffect const> effect_table() { return effects::rows; }

}  // namespace det::config::schema
