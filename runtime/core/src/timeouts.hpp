#pragma once
#include <det/core/context.hpp>

#include <chrono>

namespace det::core {

/// How long other ranks are waited for: as long as they live, unless DET_COLLECTIVE_TIMEOUT_S says otherwise.
struct Timeouts {
    std::optional<std::chrono::seconds> timeout = {};
    std::function<void(std::string const& warning)> warn;  // of a long wait
};

/// codes::misuse where the environment says something that is no number of seconds.
Result<Timeouts> find_timeouts(ContextOptions const& options);

/// Whom the caller has named, or else standard error.
std::function<void(std::string const& warning)> warning_handler(ContextOptions const& options);

/// A line of ours on the standard error of a rank.
void write_line(std::string const& line);

}  // namespace det::core
