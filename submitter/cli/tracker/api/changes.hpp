#pragma once
#include "route_helpers.hpp"
#include "waiters.hpp"

namespace det::tracker::api {

void add_change_routes(Routes& routes, Sources& sources, Waiters& waiters);

/// The parameter `wait`: how long to wait for an answer, at most wait_max. Zero: not at all.
inline constexpr std::chrono::seconds wait_max{60};
Result<std::chrono::milliseconds> wait_parameter(Request const& request);

}  // namespace det::tracker::api
