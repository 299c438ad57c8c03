#pragma once
#include <det/launch/supervisor/supervise.hpp>

namespace det::launch::supervisor {

/// Removes the checkpoints that the experiment does not keep, if all of its trials are over. Whoever sees
/// that does it: of two at once one, and nothing is lost if nobody can.
void tidy_up(Assignment const& assignment, Surroundings const& around);

}  // namespace det::launch::supervisor
