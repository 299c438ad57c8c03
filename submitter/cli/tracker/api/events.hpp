#pragma once
#include "route_helpers.hpp"

namespace det::tracker::api {

/// Adds the route of what users did to an experiment.
void add_event_routes(Routes& routes, Sources& sources);

}  // namespace det::tracker::api
