#pragma once
#include <det/core/context.hpp>

#include <chrono>

namespace det::core {

/// How long a rank waits for other ranks: DET_COLLECTIVE_TIMEOUT_S seconds, or as long as they live.
struct Timeouts {
    std::optional<std::chrono::seconds> timeout = {};      // nullopt: as long as they live
    std::function<void(std::string const& warning)> warn;  // called when a wait is long
};

/// Reads DET_COLLECTIVE_TIMEOUT_S.
/// \return codes::misuse if the variable is not a positive number of seconds
Result<Timeouts> find_timeouts(ContextOptions const& options);

/// Returns the handler of the options, or a handler that writes to stderr if the options have none.
std::function<void(std::string const& warning)> warning_handler(ContextOptions const& options);

/// Writes "det: " and the line to stderr.
void write_line(std::string const& line);

}  // namespace det::core
