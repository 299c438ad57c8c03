#include <algorithm>

#include "command.hpp"

namespace det::cli {
namespace {

constexpr CommandEntry command_entries[] = {
    {"experiment", "create", "submit an experiment", make_experiment_create},
    {"experiment", "list", "your experiments and their states", make_experiment_list, RootUse::shows},
    {"experiment", "describe", "one experiment: its state, best trial, last failure and what comes next",
     make_experiment_describe, RootUse::shows},
    {"experiment", "config", "the configuration of an experiment, as it runs", make_experiment_config,
     RootUse::shows},
    {"experiment", "download-model-def", "the code of an experiment", make_experiment_download_model_def,
     RootUse::shows},
    {"experiment", "download", "copies of its best checkpoints", make_experiment_download, RootUse::shows},
    {"experiment", "list-trials", "its trials and their hyperparameters", make_experiment_list_trials,
     RootUse::shows},
    {"experiment", "best", "its best trials, with hyperparameters and checkpoint", make_experiment_best,
     RootUse::shows},
    {"experiment", "compare", "experiments side by side", make_experiment_compare, RootUse::shows},
    {"experiment", "report", "what the slots of its jobs were used for", make_experiment_report,
     RootUse::shows},
    {"experiment", "export", "its page as one file, or its metrics for TensorBoard, MLflow or wandb",
     make_experiment_export, RootUse::shows},
    {"experiment", "list-checkpoints", "the checkpoints of its trials", make_experiment_list_checkpoints,
     RootUse::shows},
    {"experiment", "logs", "the output of its first trial", make_experiment_logs, RootUse::shows},
    {"experiment", "wait", "wait for the end of an experiment", make_experiment_wait, RootUse::shows},
    {"experiment", "pause", "free its nodes; its trials save their work", make_experiment_pause},
    {"experiment", "activate", "resume an experiment that waits for you", make_experiment_activate},
    {"experiment", "continue", "run an experiment that has ended again, optionally changed",
     make_experiment_continue},
    {"experiment", "fork", "a new experiment from an existing one", make_experiment_fork},
    {"experiment", "cancel", "end an experiment; its trials may save their work", make_experiment_cancel},
    {"experiment", "kill", "end an experiment at once", make_experiment_kill},
    {"experiment", "delete", "remove an experiment that has ended", make_experiment_delete},
    {"experiment", "gc", "remove the checkpoints that its policy does not keep", make_experiment_gc},
    {"experiment", "archive", "hide an experiment that has ended", make_experiment_archive},
    {"experiment", "unarchive", "show an archived experiment again", make_experiment_unarchive},
    {"experiment", "set name", "give an experiment another name", make_experiment_set_name},
    {"experiment", "set description", "describe an experiment", make_experiment_set_description},
    {"experiment", "set notes", "keep notes about an experiment", make_experiment_set_notes},
    {"experiment", "set priority", "move a waiting experiment in the queue", make_experiment_set_priority},
    {"experiment", "set max-concurrent-trials", "limit how many of its trials run at once",
     make_experiment_set_max_concurrent_trials},
    {"experiment", "set max-slots", "limit the slots that its trials have at once",
     make_experiment_set_max_slots},
    {"experiment", "set gc-policy", "change how many checkpoints it keeps", make_experiment_set_gc_policy},
    {"experiment", "set log-retention", "change how long its logs are kept",
     make_experiment_set_log_retention},
    {"experiment", "label add", "label an experiment", make_experiment_label_add},
    {"experiment", "label remove", "remove a label", make_experiment_label_remove},
    {"trial", "describe", "one trial: its hyperparameters and its runs", make_trial_describe, RootUse::shows},
    {"trial", "download", "a copy of one of its checkpoints", make_trial_download, RootUse::shows},
    {"trial", "kill", "end one trial at once", make_trial_kill},
    {"trial", "logs", "the output of the ranks of a trial", make_trial_logs, RootUse::shows},
    {"trial", "shell", "a shell beside a rank that runs", make_trial_shell},
    {"trial", "metrics", "the metrics that a trial reported", make_trial_metrics, RootUse::shows},
    {"trial", "profile", "how a profiled trial used its nodes, and its timings", make_trial_profile,
     RootUse::shows},
    {"checkpoint", "list", "the checkpoints of an experiment", make_checkpoint_list, RootUse::shows},
    {"checkpoint", "describe", "what a checkpoint holds", make_checkpoint_describe, RootUse::shows},
    {"checkpoint", "verify", "compare a checkpoint with its checksums", make_checkpoint_verify,
     RootUse::shows},
    {"checkpoint", "download", "a copy of a checkpoint", make_checkpoint_download, RootUse::shows},
    {"checkpoint", "export", "the tensors of a checkpoint in one file", make_checkpoint_export,
     RootUse::shows},
    {"checkpoint", "import", "make a checkpoint of a file of tensors", make_checkpoint_import},
    {"checkpoint", "delete", "remove checkpoints", make_checkpoint_delete},
    {"checkpoint", "rm", "remove files of checkpoints", make_checkpoint_rm},
    {"checkpoint", "set metadata", "replace the metadata of a checkpoint", make_checkpoint_set_metadata},
    {"model", "create", "give a model a name, to which checkpoints belong", make_model_create},
    {"model", "list", "your models", make_model_list, RootUse::shows},
    {"model", "describe", "one model, and its newest version", make_model_describe, RootUse::shows},
    {"model", "register-version", "make a checkpoint the next version of a model",
     make_model_register_version},
    {"model", "list-versions", "the versions of a model", make_model_list_versions, RootUse::shows},
    {"model", "update", "change the name, texts, labels or metadata of a model", make_model_update},
    {"model", "archive", "keep a model as it is", make_model_archive},
    {"model", "unarchive", "allow changes of an archived model again", make_model_unarchive},
    {"model", "delete", "remove a model, or one of its versions", make_model_delete},
    {"task", "list", "which jobs have which nodes and slots now", make_task_list, RootUse::shows},
    {"task", "logs", "the output of the ranks of a trial", make_task_logs, RootUse::shows},
    {"resource-pool", "list", "where trials can run: slots, free nodes, queue", make_resource_pool_list,
     RootUse::shows},
    {"resource-pool", "describe", "one pool: its nodes, limits, defaults", make_resource_pool_describe,
     RootUse::shows},
    {"site", "check", "what to change so that experiments run well here", make_site_check},
    {"site", "try", "what compute nodes see: one small job in each pool", make_site_try},
    {"job", "list", "the queue, in scheduling order", make_job_list, RootUse::shows},
    {"job", "update", "move a waiting job", make_job_update},
    {"job", "update-batch", "several such moves at once", make_job_update_batch},
    {"job", "watch", "the queue, live in the terminal", make_job_watch, RootUse::shows},
    {"config", "check", "all errors of a configuration", make_config_check},
    {"config", "show", "the effective configuration, and where each value comes from", make_config_show},
    {"config", "defaults", "every key, its default and its meaning", make_config_defaults},
    {"config", "set", "who can read your new experiments", make_config_set},
    {"config", "schema", "a JSON Schema, for editors", make_config_schema},
    {"search", "preview", "the trials that a configuration makes; what a search has done",
     make_search_preview, RootUse::shows},
    {"template", "list", "configuration templates: yours and the shipped ones", make_template_list},
    {"template", "describe", "the contents of a template", make_template_describe},
    {"template", "create", "make a template from a file", make_template_create},
    {"template", "set", "make a template, or replace it", make_template_set},
    {"template", "set-value", "change one value of a template", make_template_set_value},
    {"template", "set-value config", "replace a template by a file", make_template_set_value_config},
    {"template", "remove", "remove a template of yours", make_template_remove},
    {"tracker", "start", "start a tracker in the background, unless one runs", make_tracker_start,
     RootUse::shows},
    {"tracker", "status", "whether a tracker runs, and where", make_tracker_status, RootUse::shows},
    {"tracker", "stop", "stop the tracker", make_tracker_stop, RootUse::shows},
    {"tracker", "serve", "serve your experiments over HTTP until stopped or unused", make_tracker_serve,
     RootUse::shows},
    {"tracker", "export", "the metrics of trials as CSV, JSON lines or event files", make_tracker_export,
     RootUse::shows},
    {"tracker", "check", "compare the tracker's index with the journals", make_tracker_check, RootUse::shows},
    {"tracker", "rebuild", "make the tracker's index anew from the journals", make_tracker_rebuild,
     RootUse::shows},
    {"", "top", "your running trials, live in the terminal", make_top, RootUse::shows},
    {"", "web", "look at your experiments in a browser", make_web, RootUse::shows},
    {"", "tensorboard", "the command that shows experiments in TensorBoard", make_tensorboard,
     RootUse::shows},
    {"", "completion", "completion of commands, options and names for a shell", make_completion},
    {"", "dump", "print any file of det-submit in readable form", make_dump},
};

constexpr NameAlias other_names[] = {
    {"ls", "list"},   {"lt", "list-trials"},   {"lc", "list-checkpoints"},
    {"rm", "remove"}, {"unpause", "activate"},
};

constexpr ShortCommand short_names[] = {
    {"run", "experiment", "create", "--follow-first-trial",
     "submit an experiment or a batch script, and follow it"},
    {"ls", "experiment", "list", "", "your experiments"},
    {"status", "experiment", "describe", "", "an experiment: its state, best trial and last failure"},
    {"logs", "trial", "logs", "", "what its ranks print; -f follows"},
    {"stop", "experiment", "cancel", "", "end it; its trials may save their work"},
};

constexpr GroupAlias aliases[] = {
    {"e", "experiment"}, {"exp", "experiment"}, {"t", "trial"}, {"j", "job"},
    {"c", "checkpoint"}, {"tpl", "template"},   {"m", "model"}, {"rp", "resource-pool"},
};

}  // namespace

std::string CommandEntry::page_name() const {
    auto page = group.empty() ? std::string(name) : std::string(group) + "/" + std::string(name);
    std::replace_if(
        page.begin(), page.end(), [](char c) { return c == '-' || c == ' '; }, '_');
    return page;
}

std::span<CommandEntry const> command_table() { return command_entries; }
std::span<GroupAlias const> group_aliases() { return aliases; }
std::span<NameAlias const> name_aliases() { return other_names; }
std::span<ShortCommand const> short_commands() { return short_names; }

}  // namespace det::cli
