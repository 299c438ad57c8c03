#pragma once
#include "state.hpp"

namespace det::tracker::api {

/// What concerns all trials of an experiment: the names of their metrics, their curves; and its
/// configuration.
void add_experiment_metric_routes(Routes& routes, Sources& sources);

}  // namespace det::tracker::api
