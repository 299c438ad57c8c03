#pragma once
#include "route_helpers.hpp"

namespace det::tracker::api {

/// Routes for all trials of an experiment together: the names of their metrics, their curves, and the
/// configuration.
void add_experiment_metric_routes(Routes& routes, Sources& sources);

}  // namespace det::tracker::api
