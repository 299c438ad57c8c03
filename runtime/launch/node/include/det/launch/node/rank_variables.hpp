#pragma once
#include <string_view>

namespace det::launch::node {

// Environment variables that ranks and their libraries read; one table lists them.

/// Whether containers get the variable. Pure.
bool is_passed_to_containers(std::string_view name);

/// Whether a launcher sets the variable to another value for each rank or launch. A command that is to run
/// beside a rank, in a container of its own, needs the rank's values. Pure.
bool is_set_by_launchers(std::string_view name);

}  // namespace det::launch::node
