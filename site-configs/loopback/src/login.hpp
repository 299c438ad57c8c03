#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <optional>
#include <string>
#include <vector>

#include "keeper_record.hpp"

namespace det::loopback {

struct Login {
    std::string user;
    std::optional<std::string> node = {};  // nothing: the login host
    std::vector<std::string> argv = {};    // empty: the user's shell
};

/// Runs a command as that user on a host of the cluster, as ssh would, with our stdin, stdout, stderr and
/// terminal. Returns what the command's exit code was, 128 + signal where a signal ended it. Signals sent to
/// us go on to the command; it dies when we do. The calling process is of no other use afterwards.
Result<int> log_in(ClusterPaths const& paths, RunningCluster const& cluster, Login const& login,
                   Environment const& caller);

}  // namespace det::loopback
