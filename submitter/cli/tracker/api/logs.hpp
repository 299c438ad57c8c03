#pragma once
#include "route_helpers.hpp"
#include "waiters.hpp"

namespace det::tracker::api {

void add_log_routes(Routes& routes, Sources& sources, Waiters& waiters);

}  // namespace det::tracker::api
