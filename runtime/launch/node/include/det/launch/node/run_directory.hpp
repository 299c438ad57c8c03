#pragma once
#include <det/foundation/environment.hpp>
#include <det/launch/node/node_directory.hpp>
#include <det/protocol/launch_options.hpp>
#include <det/protocol/task_identity.hpp>

#include <filesystem>
#include <string>

namespace det::launch::node {

/// The name of this node in Slurm; outside of Slurm its host name.
std::string node_name(Environment const& environment);

/// The directory on this node below which DET_RUN_DIR is: DET_LOCAL_DIR, else TMPDIR, else /tmp.
std::filesystem::path local_base(Environment const& environment);

/// A random suffix for the name of a directory, the same wherever this user asks with the same key, from a
/// file of this user that the first call makes. It stays: only where another user takes names is there one.
Result<std::string> find_local_suffix(Environment const& environment, std::string const& key);
/// The same, of a file that must be there.
Result<std::string> known_local_suffix(Environment const& environment, std::string const& key);

/// Enters DET_RUN_DIR for a task of a run and sets the variables of the task in `environment`. The task must
/// keep the returned object until its command has ended. The first task on a node writes ClusterInfo and
/// creates the preemption notice page; if the run belongs to an experiment it also calls `helper`
/// (det-launch), which adds the specification and the code. `launch` says whether srun or a launcher starts
/// the ranks; it is used only for steps of users' own scripts.
Result<NodeDirectory> enter_run_directory(Environment& environment, TaskIdentity const& task, Launch launch,
                                          std::filesystem::path const& helper);

}  // namespace det::launch::node
