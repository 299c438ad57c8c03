#pragma once
#include "state.hpp"

namespace det::tracker::api {

void add_series_routes(Routes& routes, Sources& sources);

}  // namespace det::tracker::api
