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
    {"experiment", "", "move", labels},
    {"experiment", "", "delete-tb-files",
     "remove the directories that 'det-submit tensorboard ID' names, when the experiment has ended"},
    {"trial", "", "support-bundle",
     "collect 'det-submit trial describe ID --json' and 'det-submit trial logs ID'"},
    {"task", "", "create", batch},
    {"task", "", "cleanup-logs", "'det-submit experiment gc ID' removes logs that have expired"},
    {"resource-pool", "", "bindings", "'scontrol show partition' shows AllowAccounts and AllowGroups"},
    {"model", "", "move", "there are no workspaces of models"},
};

}  // namespace

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
