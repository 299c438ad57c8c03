#pragma once
#include <string_view>

namespace det::launch::node {

// Environment variables that ranks and their libraries read; one table lists them.

/// Whether containers get the variable. Pure.
bool is_passed_to_containers(std::string_view name);

/// Whether a launcher sets the variable to another value for each rank or launch. `det-submit trial shell`
/// copies the rank's values of these variables into another container. Pure.
bool is_set_by_launchers(std::string_view name);

}  // namespace det::launch::node
