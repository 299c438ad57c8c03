#pragma once
#include <det/foundation/files.hpp>

#include "keeper_options.hpp"

namespace det::loopback {

/// Starts the keeper: this program again, as a daemon and as the first process of a new PID namespace.
/// Returns the pipe in which it reports (startup_pipe.hpp).
Result<UniqueFd> start_keeper(KeeperOptions const& options);

/// Where the keeper finds the other end.
inline constexpr int startup_fd = 3;

}  // namespace det::loopback
