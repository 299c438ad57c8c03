#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

namespace det::loopback {

/// Reads the command line and does what it says. Returns the exit code.
Result<int> run_command_line(int argc, char const* const* argv, Environment const& environment);

}  // namespace det::loopback
