#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/environment.hpp>
#include <det/slurm/srun.hpp>

#include <string>
#include <vector>

namespace det::launch::launchers {

/// A command line in the form of ssh.
struct RemoteCommand {
    std::string host;        // without USER@
    std::string shell_line;  // the arguments joined by blanks, as ssh does
    bool has_input = true;   // false with -n
    bool wants_version = false;
    friend bool operator==(RemoteCommand const&, RemoteCommand const&) = default;
};

/// Parses [OPTION...] [USER@]HOST [OPTION...] CMD... All options of ssh are accepted; only -n and -V have an
/// effect. Pure.
Result<RemoteCommand> parse_arguments(std::vector<std::string> const& arguments);

/// The step of this job that runs the command. Pure.
/// \param wrap_rank the path of det-wrap-rank, which is put before the command inside a run
Result<slurm::CommandOnNodes> plan_step(RemoteCommand const& command, Environment const& environment,
                                        std::string const& wrap_rank);

/// The step that runs a shell command on several nodes, given by their names in Slurm, without standard
/// input. Pure.
slurm::CommandOnNodes plan_step_on(std::vector<std::string> nodes, std::string const& shell_line,
                                   Environment const& environment, std::string const& wrap_rank);

/// Removes variables of the current step that srun would take for its own options. Pure.
Environment without_step_variables(Environment environment);

/// Runs the command and returns its exit code. Forwards USR1, USR2 and WINCH. Kills the command on TERM, INT,
/// HUP or QUIT, and when the parent process or det-launch's monitor has ended. Outside a run, the command
/// first gets the signal (TERM instead of INT) and has 3 s to end. Inside a run, a TERM from Slurm is the
/// preemption notice. It is ignored here, because Slurm sends it to the node of the command too.
Result<int> run_remotely(slurm::CommandOnNodes const& step, Environment const& environment,
                         Clock const& clock);

}  // namespace det::launch::launchers
