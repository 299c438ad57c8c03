#pragma once
#include <det/core/context.hpp>

#include <chrono>

namespace det::core {

/// How long a rank waits for other ranks: as long as they live, or DET_COLLECTIVE_TIMEOUT_S seconds.
struct Timeouts {
    std::optional<std::chrono::seconds> timeout = {};
    std::function<void(std::string const& warning)> warn;  // of a long wait
};

/// codes::misuse where the environment says something that is no number of seconds.
Result<Timeouts> find_timeouts(ContextOptions const& options);

/// The handler of the options, or one that writes to stderr.
std::function<void(std::string const& warning)> warning_handler(ContextOptions const& options);

/// A line of ours on the standard error of a rank.
void write_line(std::string const& line);

}  // namespace det::core
