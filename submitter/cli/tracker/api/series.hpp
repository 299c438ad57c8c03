#pragma once
#include "route_helpers.hpp"

namespace det::tracker::api {

/// The parameters of a curve. `steps` is the default axis of reports, `time` that of system metrics.
Result<history::CurveQuery> parse_series_query(Request const& request, history::Axis default_axis);

void add_series_routes(Routes& routes, Sources& sources);

}  // namespace det::tracker::api
