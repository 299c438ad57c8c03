#pragma once
#include "route_helpers.hpp"

namespace det::tracker::api {

/// The list of experiments. `services` answers the requests that need Slurm's queue.
void add_experiment_routes(Routes& routes, Sources& sources, ServiceThread& services);

}  // namespace det::tracker::api
