#pragma once
#include <det/foundation/environment.hpp>
#include <det/launch/node/node_directory.hpp>
#include <det/protocol/launch.hpp>
#include <det/protocol/task_identity.hpp>

#include <filesystem>

namespace det::launch::node {

/// This node, as Slurm calls it.
std::string node_name(Environment const& environment);

/// Gives a task of a run its place on the node: a share of the run's directory there, which is its own to
/// keep until its command has ended, and in `environment` what follows from that. Whoever comes first on a
/// node writes ClusterInfo and makes the notice page; where the run belongs to an experiment, `helper`
/// (det-launch) adds its spec and its code. `launch`: who starts the ranks, for scripts of users' own.
Result<NodeDirectory> enter_run_directory(Environment& environment, TaskIdentity const& task, Launch launch,
                                          std::filesystem::path const& helper);

}  // namespace det::launch::node
