#pragma once
#include <det/tracker/http/routes.hpp>

#include <vector>

namespace det::tracker::web {

/// The routes of the web page: "/" and the files that it names. They need no token, because the files contain
/// no data of experiments: the page gets its data from the tracker's other routes, with the token.
std::vector<http::Route> page_routes();

}  // namespace det::tracker::web
