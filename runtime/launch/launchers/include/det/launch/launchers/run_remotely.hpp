#pragma once
#include <det/foundation/clock.hpp>
#include <det/launch/launchers/remote_command.hpp>

namespace det::launch::launchers {

/// Runs the command and returns its exit code. Forwards USR1, USR2 and WINCH. The command is ended by TERM,
/// INT, HUP or QUIT, and by the end of the parent process or of det-launch's monitor; outside a run it first
/// gets the signal and has 3 s to end. A TERM from Slurm is the preemption notice. It is ignored here: the
/// command's node gets it as well.
Result<int> run_remotely(slurm::CommandOnNodes const& step, Environment const& environment,
                         Clock const& clock);

}  // namespace det::launch::launchers
