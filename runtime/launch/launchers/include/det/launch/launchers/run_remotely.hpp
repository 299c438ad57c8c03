#pragma once
#include <det/foundation/clock.hpp>
#include <det/launch/launchers/remote_command.hpp>

namespace det::launch::launchers {

/// Runs the command to its end and returns its exit code. USR1, USR2 and WINCH are passed on. TERM, INT, HUP
/// and QUIT, and the end of our parent or of the launcher's watch, end it; outside a run it gets the signal
/// first, and 3 s. Slurm's own TERM is the notice, which the command's node gets as well: it ends nothing
/// here.
Result<int> run_remotely(slurm::CommandOnNodes const& step, Environment const& environment,
                         Clock const& clock);

}  // namespace det::launch::launchers
