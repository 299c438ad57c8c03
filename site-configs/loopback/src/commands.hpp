#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/result.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cluster_files.hpp"
#include "cluster_options.hpp"
#include "cluster_paths.hpp"

// The commands of 'cluster'. Each returns the exit code. Answers go to stdout, messages to stderr.
namespace det::loopback {

enum class Format { people, json };

struct Login {
    std::string user;
    std::optional<std::string> node = {};  // nullopt: the login host
    std::vector<std::string> argv = {};    // empty: the user's shell
};

Result<int> run_up(ClusterPaths const& paths, ClusterOptions const& options);
Result<int> run_down(ClusterPaths const& paths, Keep keep);
Result<int> run_down_all(std::filesystem::path const& base, Keep keep);
Result<int> run_status(ClusterPaths const& paths, Format format);
Result<int> run_list(std::filesystem::path const& base);
Result<int> run_env(ClusterPaths const& paths, std::string const& user);

/// Runs a command as a user on a host of the cluster, as ssh would, with the stdin, stdout, stderr and
/// terminal of this process. Returns the command's exit code, 128 + the signal that ended it, or 126 or 127
/// if it can't be started. INT, TERM, HUP and QUIT are forwarded to the command, unless the terminal sent
/// them, which the command gets from it; other signals have their default action on this process. The command
/// is killed when this process ends. Moves the calling process into the cluster's namespaces.
Result<int> run_login(ClusterPaths const& paths, Login const& login, Environment const& caller);

struct NodeState {
    std::string name;
    std::string state;  // as sinfo prints it: idle, down* ...
    std::string gres;
};

/// Runs a command as root on the login host.
Result<ProcessOutput> run_in_cluster(ClusterPaths const& paths, std::vector<std::string> const& argv,
                                     std::chrono::milliseconds timeout);
/// Runs sinfo in the cluster. Fails with codes::slurm_unreachable if sinfo fails.
Result<std::vector<NodeState>> read_node_states(ClusterPaths const& paths, std::chrono::milliseconds timeout);

/// The main function of the init process, the first process of the cluster's PID namespace: when it ends, for
/// any reason, the kernel kills all other processes of the cluster. It makes the hosts, supervises the
/// daemons and serves the control socket. Returns after SIGTERM, SIGINT or SIGHUP, when 'cluster up' has
/// ended before the daemons are ready, or with an error if the start fails.
/// \param startup the pipe to 'cluster up' (init_start.hpp)
Status run_init_process(InitOptions const& options, UniqueFd startup);

/// Ends the cluster if it is running and removes its files. The caller holds the ClusterLock.
Status tear_down(ClusterPaths const& paths, Keep keep);

}  // namespace det::loopback
