#pragma once
#include <det/foundation/clock.hpp>
#include <det/launch/launchers/remote_command.hpp>

namespace det::launch::launchers {

/// Runs the command and returns its exit code. Forwards USR1, USR2 and WINCH. TERM, INT, HUP and QUIT, and
/// the end of the parent process or of det-launch's monitor, end the command; outside a run it gets the
/// signal first, and 3 s. Slurm's own TERM is the preemption notice, which the command's node gets as well,
/// and ends nothing here.
Result<int> run_remotely(slurm::CommandOnNodes const& step, Environment const& environment,
                         Clock const& clock);

}  // namespace det::launch::launchers
