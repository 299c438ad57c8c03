#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

namespace det::loopback {

/// Parses the command line and runs the command. Returns the exit code.
Result<int> run_command_line(int argc, char const* const* argv, Environment const& environment);

}  // namespace det::loopback
