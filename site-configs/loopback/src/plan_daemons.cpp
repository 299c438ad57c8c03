#include "plan_daemons.hpp"

#include <det/foundation/text.hpp>

#include <fmt/format.h>

#include "process_handle.hpp"
#include "slurm_config.hpp"

namespace det::loopback {
namespace {

enum Stage { authentication, database, accounting, controller, nodes };

/// True if a process listens on `port` on the host of process `pid`. Reads /proc/<pid>/net/tcp: the daemon
/// would log a test connection as an error.
bool is_listening(pid_t pid, int port) {
    auto const table = read_file(fmt::format("/proc/{}/net/tcp", pid));
    if (!table) return false;
    auto const local_port = fmt::format(":{:04X}", port);
    constexpr std::string_view listen_state = "0A";
    for (auto const line : split_lines(*table)) {
        // "sl  local_address rem_address st ..."
        std::vector<std::string_view> fields;
        for (auto const field : split(line, ' ')) {
            if (!field.empty()) fields.push_back(field);
        }
        if (fields.size() > 3 && fields[1].ends_with(local_port) && fields[3] == listen_state) return true;
    }
    return false;
}

DaemonSpec plan_munged(ClusterPaths const& paths) {
    auto const socket = paths.munge_socket();
    return {
        .name = munge_daemon,
        .argv =
            {"munged", "--foreground",
             // Without --force munged refuses sockets and keys below world-writable directories like /tmp.
             "--force", "--num-threads=4", "--socket=" + socket.string(),
             "--key-file=" + (paths.etc() / "munge.key").string(),
             "--pid-file=" + (paths.run() / "munged.pid").string(),
             "--seed-file=" + (paths.run() / "munged.seed").string(),
             "--log-file=" + (paths.log() / "munged.log").string()},
        .output = paths.log() / "munged.out",
        .stage = authentication,
        .is_ready = [socket](pid_t) { return path_exists(socket); }};
}

/// The database of slurmdbd. It checks no password (--skip-grant-tables): only processes on the controller's
/// host can connect.
DaemonSpec plan_mariadbd(ClusterPaths const& paths) {
    auto const data = paths.database().string();
    auto const install = fmt::format(
        "[ -d '{0}/mysql' ] || mariadb-install-db --no-defaults --user=root --datadir='{0}' --skip-test-db",
        data);
    auto const serve = fmt::format(
        "exec mariadbd --no-defaults --user=root --datadir='{0}' --socket='{1}' --pid-file='{2}' "
        "--bind-address=127.0.0.1 --port={3} --skip-grant-tables --innodb-buffer-pool-size=64M",
        data, paths.mariadb_socket().string(), (paths.run() / "mariadbd.pid").string(), database_port);
    return {.name = "mariadbd",
            .argv = {"sh", "-c", fmt::format("{} && {}", install, serve)},
            .output = paths.log() / "mariadbd.out",
            .stage = database,
            .is_ready = [](pid_t pid) { return is_listening(pid, database_port); }};
}

DaemonSpec plan_slurmdbd(ClusterPaths const& paths) {
    return {.name = "slurmdbd",
            .argv = {"slurmdbd", "-D"},
            .output = paths.log() / "slurmdbd.out",
            .stage = accounting,
            .is_ready = [](pid_t pid) { return is_listening(pid, slurmdbd_port); }};
}

DaemonSpec plan_slurmctld(ClusterPaths const& paths) {
    return {.name = controller_daemon,
            .argv = {"slurmctld", "-D"},
            .output = paths.log() / "slurmctld.out",
            .stage = controller,
            .is_ready = [](pid_t pid) { return is_listening(pid, controller_port); }};
}

/// If the profile has sockets, hwloc shows slurmd the node's sockets and cores instead of the machine's.
std::vector<std::string> variables_of_slurmd(InitOptions const& options) {
    int const sockets = options.profile.sockets;
    if (sockets == 0) return {};
    return {fmt::format("HWLOC_SYNTHETIC=pack:{} core:{} pu:1", sockets, options.cpus / sockets),
            "HWLOC_THISSYSTEM=1",
            fmt::format("LD_PRELOAD={}", (options.paths.software() / "lib/libdet_missing_cpus.so").string())};
}

DaemonSpec plan_slurmd(InitOptions const& options, int node, HostNamespaces const& host) {
    auto const& paths = options.paths;
    std::vector<std::string> argv{"env"};
    for (auto& variable : variables_of_slurmd(options)) argv.push_back(std::move(variable));
    for (auto const& word : {"slurmd", "-D", "-N"}) argv.emplace_back(word);
    argv.push_back(node_name(node));
    return {.name = node_daemon(node),
            .argv = std::move(argv),
            .output = paths.log() / fmt::format("{}.out", node_daemon(node)),
            .stage = nodes,
            .host = &host,
            .is_ready = [](pid_t pid) { return is_listening(pid, node_port); }};
}

}  // namespace

std::string node_daemon(int node_index) { return "slurmd." + node_name(node_index); }

std::vector<DaemonSpec> plan_daemons(InitOptions const& options, ClusterHosts const& hosts) {
    std::vector<DaemonSpec> daemons{plan_munged(options.paths)};
    if (options.profile.accounting == Accounting::slurmdbd) {
        daemons.push_back(plan_mariadbd(options.paths));
        daemons.push_back(plan_slurmdbd(options.paths));
    }
    daemons.push_back(plan_slurmctld(options.paths));
    for (int i = 0; i < options.nodes; ++i) {
        daemons.push_back(plan_slurmd(options, i, hosts.nodes()[static_cast<std::size_t>(i)]));
    }
    return daemons;
}

std::vector<std::string> daemon_environment(ClusterPaths const& paths) {
    return {fmt::format("PATH={}", system_path), "LANG=C.UTF-8", "SLURM_CONF=" + paths.slurm_conf().string()};
}

}  // namespace det::loopback
