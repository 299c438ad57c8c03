#pragma once
#include "route_helpers.hpp"

namespace det::tracker::api {

/// The nodes of the cluster and the jobs on them. `services` answers, because Slurm is asked.
void add_node_routes(Routes& routes, Sources& sources, ServiceThread& services);

}  // namespace det::tracker::api
