#pragma once
#include <det/foundation/environment.hpp>
#include <det/slurm/srun.hpp>

#include <string>
#include <vector>

namespace det::launch::launchers {

/// A call in the manner of ssh.
struct RemoteCommand {
    std::string host;        // without the user
    std::string shell_line;  // the words joined by blanks, as ssh does
    bool has_input = true;   // -n: none
    bool wants_version = false;
    friend bool operator==(RemoteCommand const&, RemoteCommand const&) = default;
};

/// [OPTION...] [USER@]HOST [OPTION...] CMD...: options of ssh are taken as ssh takes them, and have no
/// effect. Pure.
Result<RemoteCommand> parse_arguments(std::vector<std::string> const& arguments);

/// The step of this job that runs it. wrap_rank: det-wrap-rank, put before it in a run of ours. Pure.
Result<slurm::CommandOnNodes> plan_step(RemoteCommand const& command, Environment const& environment,
                                        std::string const& wrap_rank);

/// The same for several nodes that Slurm knows by these names, without input. Pure.
slurm::CommandOnNodes plan_step_on(std::vector<std::string> nodes, std::string const& shell_line,
                                   Environment const& environment, std::string const& wrap_rank);

/// What srun would take for wishes, made for the step that we are in. Pure.
Environment without_step_variables(Environment environment);

}  // namespace det::launch::launchers
