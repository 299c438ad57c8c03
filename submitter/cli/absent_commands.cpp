#include "absent_commands.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace det::cli {
namespace {

struct AbsentCommand {
    std::string_view group, other_group_name;
    std::string_view name;  // empty: all commands of the group
    std::string_view instead;
};

constexpr std::string_view rights =
    "users, groups and their rights are those of the system and of Slurm's accounts: 'sacctmgr show assoc "
    "user=NAME'";
constexpr std::string_view labels =
    "label experiments instead ('det-submit experiment label add'), or set DET_ROOT to another directory";
constexpr std::string_view nodes =
    "'det-submit resource-pool describe POOL' and 'sinfo -N' show nodes, 'scontrol update' drains one";
constexpr std::string_view batch =
    "use 'srun' or 'sbatch'; '#SBATCH --det' gives the ranks of a script their "
    "identity where the site has the plugin";
constexpr std::string_view tensorboard_process =
    "'det-submit tensorboard ID' is a program of this terminal: it prints its address and its log, and "
    "Ctrl-C "
    "ends it";

constexpr AbsentCommand absent_commands[] = {
    {"shell", "", "", "use 'srun --pty bash', or 'det-submit trial shell ID' beside a rank that runs"},
    {"notebook", "", "", "run jupyter by 'srun --pty' and reach its port by 'ssh -L'"},
    {"cmd", "command", "", batch},
    {"user", "u", "", rights},
    {"user-group", "ug", "", rights},
    {"rbac", "", "", rights},
    {"sso", "", "", rights},
    {"oauth", "", "", rights},
    {"token", "", "", rights},
    {"workspace", "w", "", labels},
    {"project", "p", "", labels},
    {"master", "", "",
     "there is none: 'det-submit site check' shows the site, 'det-submit tracker status' the tracker"},
    {"agent", "a", "", nodes},
    {"slot", "s", "", nodes},
    {"resources", "res", "", "'det-submit experiment report ID' and 'sreport' show what was used"},
    {"deploy", "d", "", "there is nothing to deploy: jobs need the installed directory and no service"},
    {"dev", "", "", "the tracker has an HTTP interface: 'det-submit tracker start --port PORT'"},
    {"experiment", "", "set weight",
     "Slurm shares by the weights of accounts and users: see 'det-submit job update --help'"},
    {"trial", "", "set log-retention",
     "all logs of an experiment are kept alike: 'det-submit experiment set log-retention'"},
    {"experiment", "", "move", labels},
    {"experiment", "", "delete-tb-files",
     "remove the directories that 'det-submit tensorboard ID --json' names, when the experiment has ended"},
    {"trial", "", "support-bundle",
     "collect 'det-submit trial describe ID --json' and 'det-submit trial logs ID'"},
    {"tensorboard", "", "list", tensorboard_process},
    {"tensorboard", "", "ls", tensorboard_process},
    {"tensorboard", "", "open", tensorboard_process},
    {"tensorboard", "", "kill", tensorboard_process},
    {"tensorboard", "", "logs", tensorboard_process},
    {"tensorboard", "", "config", tensorboard_process},
    {"tensorboard", "", "set", tensorboard_process},
    {"task", "", "create", batch},
    {"task", "", "cleanup-logs", "'det-submit experiment gc ID' removes logs that have expired"},
    {"resource-pool", "", "bindings", "'scontrol show partition' shows AllowAccounts and AllowGroups"},
    {"model", "", "move", "there are no workspaces of models"},
};

struct AbsentOption {
    std::string_view group, command, option;
    std::string_view instead;
};

constexpr std::string_view no_workspaces = "there are no workspaces of models: a root has one registry";
constexpr std::string_view json_is_yaml = "use --json, which is YAML too";

constexpr AbsentOption absent_options[] = {
    {"experiment", "list", "--show_project", "'det-submit experiment config ID' has workspace and project"},
    {"experiment", "describe", "--yaml", json_is_yaml},
    {"model", "create", "-w", no_workspaces},
    {"model", "create", "--workspace-name", no_workspaces},
    {"model", "list", "-w", no_workspaces},
    {"model", "list", "--workspace-names", no_workspaces},
    {"resource-pool", "list", "--yaml", json_is_yaml},
    {"task", "list", "--yaml", json_is_yaml},
};

}  // namespace

std::optional<std::string> find_absent_option(std::string_view group, std::string_view command,
                                              std::string_view option) {
    auto const found = std::ranges::find_if(absent_options, [&](AbsentOption const& each) {
        return each.group == group && each.command == command && each.option == option;
    });
    if (found == std::end(absent_options)) return std::nullopt;
    return std::string(found->instead);
}

std::optional<Error> find_absent_command(std::string_view group, std::string_view name) {
    auto const found = std::ranges::find_if(absent_commands, [&](AbsentCommand const& each) {
        bool const is_group =
            group == each.group || (!each.other_group_name.empty() && group == each.other_group_name);
        // The words after the name of the command may be arguments.
        bool const is_name = name == each.name || name.starts_with(std::string(each.name) + " ");
        return is_group && (each.name.empty() || is_name);
    });
    if (found == std::end(absent_commands)) return std::nullopt;
    auto const space = found->name.empty() ? "" : " ";
    return Error{codes::usage, fmt::format("det-submit has no '{}{}{}'", found->group, space, found->name),
                 std::string(found->instead)};
}

}  // namespace det::cli
