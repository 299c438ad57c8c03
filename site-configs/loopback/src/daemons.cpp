#include "daemons.hpp"

#include <det/foundation/text.hpp>

#include <fmt/format.h>

#include "slurm_config.hpp"

namespace det::loopback {
namespace {

enum Stage { authentication, controller, nodes };

/// On the host of that process. Looked up instead of connected to, which the daemon would log as an error.
bool somebody_listens(pid_t where, int port) {
    auto const table = read_file(fmt::format("/proc/{}/net/tcp", where));
    if (!table) return false;
    auto const local_port = fmt::format(":{:04X}", port);
    constexpr std::string_view listening = "0A";
    for (auto const line : split_lines(*table)) {
        // "sl  local_address rem_address st ..."
        std::vector<std::string_view> fields;
        for (auto const field : split(line, ' ')) {
            if (!field.empty()) fields.push_back(field);
        }
        if (fields.size() > 3 && fields[1].ends_with(local_port) && fields[3] == listening) return true;
    }
    return false;
}

DaemonSpec plan_munged(ClusterPaths const& paths) {
    auto const socket = paths.munge_socket();
    return {.name = munge_daemon,
            .argv = {"munged", "--foreground",
                     // It dislikes sockets and keys below directories that others may write, as /tmp is.
                     "--force", "--num-threads=4", "--socket=" + socket.string(),
                     "--key-file=" + (paths.etc() / "munge.key").string(),
                     "--pid-file=" + (paths.run() / "munged.pid").string(),
                     "--seed-file=" + (paths.run() / "munged.seed").string(),
                     "--log-file=" + (paths.log() / "munged.log").string()},
            .output = paths.log() / "munged.out",
            .stage = authentication,
            .is_ready = [socket](pid_t) { return path_exists(socket); }};
}

DaemonSpec plan_slurmctld(ClusterPaths const& paths) {
    return {.name = controller_daemon,
            .argv = {"slurmctld", "-D"},
            .output = paths.log() / "slurmctld.out",
            .stage = controller,
            .is_ready = [](pid_t pid) { return somebody_listens(pid, controller_port); }};
}

DaemonSpec plan_slurmd(ClusterPaths const& paths, int node, HostNamespaces const& host) {
    return {.name = node_daemon(node),
            .argv = {"slurmd", "-D", "-N", node_name(node)},
            .output = paths.log() / fmt::format("{}.out", node_daemon(node)),
            .stage = nodes,
            .host = &host,
            .is_ready = [](pid_t pid) { return somebody_listens(pid, node_port); }};
}

}  // namespace

std::string node_daemon(int node_index) { return "slurmd." + node_name(node_index); }

std::vector<DaemonSpec> plan_daemons(KeeperOptions const& options, Hosts const& hosts) {
    std::vector<DaemonSpec> daemons{plan_munged(options.paths), plan_slurmctld(options.paths)};
    for (int i = 0; i < options.nodes; ++i) {
        daemons.push_back(plan_slurmd(options.paths, i, hosts.nodes()[static_cast<std::size_t>(i)]));
    }
    return daemons;
}

std::vector<std::string> daemon_environment(ClusterPaths const& paths) {
    return {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8",
            "SLURM_CONF=" + paths.slurm_conf().string()};
}

}  // namespace det::loopback
