#pragma once
#include <det/command_line/options.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/exit_code.hpp>
#include <det/foundation/result.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "session.hpp"

namespace det::cli {

using Outcome = Result<ExitCode, Diagnostics>;

using command_line::Need;
using command_line::Option;

/// A command of det-submit. Its options() point at its members, which are set before run() is called.
class Command {
public:
    virtual ~Command() = default;
    virtual std::vector<Option> options() = 0;
    /// What to do about a word that looks like an option and is none; empty: see the manual.
    virtual std::string hint_for_unknown_option() const { return ""; }
    /// Where the words after the first argument go if they are not options of this command, but arguments of
    /// the program that `argument` names; nullptr if they are options of this command.
    virtual std::vector<std::string>* words_of_program(std::string const& /*argument*/) { return nullptr; }
    /// Words that mean something to this command where other words are names of experiments.
    virtual std::vector<std::string_view> own_words() const { return {}; }
    virtual Outcome run(Session& session) = 0;
};

/// What a command does with the root of the experiments.
enum class RootUse {
    changes,  // another user's is refused
    shows,    // another user's too; also of commands that the tracker runs and that need no root
};

/// A row of the table of commands. Its source and its page are <group>/<name>.cpp and .md, with '_' in place
/// of blanks and '-'.
struct CommandEntry {
    std::string_view group;  // "experiment"; empty: the command is in no group
    std::string_view name;
    std::string_view summary;
    std::unique_ptr<Command> (*make)();
    RootUse root_use = RootUse::changes;

    std::string page_name() const;
};

std::span<CommandEntry const> command_table();

/// Another name of a group: "e" and "exp" for "experiment".
struct GroupAlias {
    std::string_view alias, group;
};
std::span<GroupAlias const> group_aliases();

/// Another name of a command. Valid in each group that has a command `name` and no command `alias`.
struct NameAlias {
    std::string_view alias, name;
};
std::span<NameAlias const> name_aliases();

/// A command without the name of its group: "ls" for "experiment list".
struct ShortCommand {
    std::string_view word, group, name;
    std::string_view option;  // that it sets; empty: none
    std::string_view summary;
};
std::span<ShortCommand const> short_commands();

// make_<group>_<name> is in <group>/<name>.cpp.
std::unique_ptr<Command> make_checkpoint_delete();
std::unique_ptr<Command> make_checkpoint_describe();
std::unique_ptr<Command> make_checkpoint_download();
std::unique_ptr<Command> make_checkpoint_export();
std::unique_ptr<Command> make_checkpoint_import();
std::unique_ptr<Command> make_checkpoint_list();
std::unique_ptr<Command> make_checkpoint_rm();
std::unique_ptr<Command> make_checkpoint_set_metadata();
std::unique_ptr<Command> make_checkpoint_verify();
std::unique_ptr<Command> make_completion();
std::unique_ptr<Command> make_config_check();
std::unique_ptr<Command> make_config_defaults();
std::unique_ptr<Command> make_config_schema();
std::unique_ptr<Command> make_config_set();
std::unique_ptr<Command> make_config_show();
std::unique_ptr<Command> make_dump();
std::unique_ptr<Command> make_experiment_activate();
std::unique_ptr<Command> make_experiment_archive();
std::unique_ptr<Command> make_experiment_best();
std::unique_ptr<Command> make_experiment_cancel();
std::unique_ptr<Command> make_experiment_compare();
std::unique_ptr<Command> make_experiment_export();
std::unique_ptr<Command> make_experiment_pause();
std::unique_ptr<Command> make_experiment_config();
std::unique_ptr<Command> make_experiment_continue();
std::unique_ptr<Command> make_experiment_create();
std::unique_ptr<Command> make_experiment_delete();
std::unique_ptr<Command> make_experiment_describe();
std::unique_ptr<Command> make_experiment_download();
std::unique_ptr<Command> make_experiment_download_model_def();
std::unique_ptr<Command> make_experiment_fork();
std::unique_ptr<Command> make_experiment_gc();
std::unique_ptr<Command> make_experiment_kill();
std::unique_ptr<Command> make_experiment_label_add();
std::unique_ptr<Command> make_experiment_label_remove();
std::unique_ptr<Command> make_experiment_list();
std::unique_ptr<Command> make_experiment_list_checkpoints();
std::unique_ptr<Command> make_experiment_list_trials();
std::unique_ptr<Command> make_experiment_logs();
std::unique_ptr<Command> make_experiment_report();
std::unique_ptr<Command> make_experiment_set_description();
std::unique_ptr<Command> make_experiment_set_notes();
std::unique_ptr<Command> make_experiment_set_gc_policy();
std::unique_ptr<Command> make_experiment_set_log_retention();
std::unique_ptr<Command> make_experiment_set_max_concurrent_trials();
std::unique_ptr<Command> make_experiment_set_max_slots();
std::unique_ptr<Command> make_experiment_set_name();
std::unique_ptr<Command> make_experiment_set_priority();
std::unique_ptr<Command> make_experiment_unarchive();
std::unique_ptr<Command> make_experiment_wait();
std::unique_ptr<Command> make_job_list();
std::unique_ptr<Command> make_job_update();
std::unique_ptr<Command> make_job_update_batch();
std::unique_ptr<Command> make_job_watch();
std::unique_ptr<Command> make_model_archive();
std::unique_ptr<Command> make_model_create();
std::unique_ptr<Command> make_model_delete();
std::unique_ptr<Command> make_model_describe();
std::unique_ptr<Command> make_model_list();
std::unique_ptr<Command> make_model_list_versions();
std::unique_ptr<Command> make_model_register_version();
std::unique_ptr<Command> make_model_unarchive();
std::unique_ptr<Command> make_model_update();
std::unique_ptr<Command> make_resource_pool_describe();
std::unique_ptr<Command> make_resource_pool_list();
std::unique_ptr<Command> make_search_preview();
std::unique_ptr<Command> make_site_check();
std::unique_ptr<Command> make_site_try();
std::unique_ptr<Command> make_task_list();
std::unique_ptr<Command> make_task_logs();
std::unique_ptr<Command> make_template_create();
std::unique_ptr<Command> make_template_describe();
std::unique_ptr<Command> make_template_list();
std::unique_ptr<Command> make_template_remove();
std::unique_ptr<Command> make_template_set();
std::unique_ptr<Command> make_template_set_value();
std::unique_ptr<Command> make_template_set_value_config();
std::unique_ptr<Command> make_tensorboard();
std::unique_ptr<Command> make_top();
std::unique_ptr<Command> make_tracker_check();
std::unique_ptr<Command> make_tracker_export();
std::unique_ptr<Command> make_tracker_rebuild();
std::unique_ptr<Command> make_tracker_serve();
std::unique_ptr<Command> make_tracker_start();
std::unique_ptr<Command> make_tracker_status();
std::unique_ptr<Command> make_tracker_stop();
std::unique_ptr<Command> make_trial_describe();
std::unique_ptr<Command> make_trial_download();
std::unique_ptr<Command> make_trial_kill();
std::unique_ptr<Command> make_trial_logs();
std::unique_ptr<Command> make_trial_metrics();
std::unique_ptr<Command> make_trial_profile();
std::unique_ptr<Command> make_trial_shell();
std::unique_ptr<Command> make_web();

}  // namespace det::cli
