#pragma once
#include <functional>

#include "job/watch_keys.hpp"
#include "job/watch_terminal.hpp"

namespace det::cli {

using FollowFunction = std::function<Status(std::uint32_t experiment)>;

/// Shows the queue until a key or a signal ends it. Shows errors in the last line of the screen.
ExitCode watch_jobs(WatchView view, WatchTerminal& terminal, Session& session, FollowFunction const& follow);

}  // namespace det::cli
