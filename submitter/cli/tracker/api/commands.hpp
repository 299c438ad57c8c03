#pragma once
#include "route_helpers.hpp"

namespace det::tracker::api {

/// Routes that answer with the JSON of a det-submit command. `services` answers those that ask Slurm or a
/// storage of checkpoints.
void add_command_routes(Routes& routes, Sources& sources, ServiceThread& services);

}  // namespace det::tracker::api
