#pragma once
#include "route_helpers.hpp"

namespace det::tracker::api {

void add_record_routes(Routes& routes, Sources& sources);

}  // namespace det::tracker::api
