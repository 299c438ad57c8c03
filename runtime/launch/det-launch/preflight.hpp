#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <filesystem>
#include <string>

namespace det::launch {

/// The arguments of `det-launch preflight`.
struct PreflightRequest {
    /// Shared directory; its file `token` contains `token` if all nodes see the same directory.
    std::filesystem::path directory;
    std::string token;
    std::filesystem::path storage;  // the checkpoint storage; empty: none on a file system
    std::string container_runtime;  // program of the container runtime; empty: none
};

/// Measures what this node of a job sees, and writes it into the directory. Nodes 0 and 1 measure the network
/// between them; what can't be measured is left out. Takes a few seconds; waits up to 15 s for the other node
/// and up to 10 s for the container runtime.
Status run_preflight(PreflightRequest const& request, Environment const& environment);

}  // namespace det::launch
