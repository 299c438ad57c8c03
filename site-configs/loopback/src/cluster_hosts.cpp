#include "cluster_hosts.hpp"

#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>

#include <cerrno>
#include <csignal>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster_cgroup.hpp"
#include "deadline.hpp"
#include "enter_root.hpp"
#include "error_codes.hpp"
#include "mounts.hpp"
#include "slurm_config.hpp"

namespace det::loopback {
namespace {

namespace fs = std::filesystem;

constexpr char const* bridge = "br0";
constexpr char const* cgroup_directory = "/sys/fs/cgroup";

/// Returns the name of the end of a node's veth pair that is on the controller's host.
std::string veth_name(int node) { return fmt::format("vd{}", node); }

std::string with_prefix(std::string const& address) {
    return fmt::format("{}/{}", address, network_prefix_bits);
}

Status run_ip(std::vector<std::string> arguments) {
    auto const command = join(arguments, " ");
    arguments.insert(arguments.begin(), "ip");
    DET_TRY_ASSIGN(auto const output, SystemProcessRunner().run({arguments, Environment::of_this_process()}));
    if (output.exit_code == 0) return Ok{};
    return Error{codes::process, fmt::format("'ip {}' failed", command)}.noting(
        fmt::format("ip said: {}", trim(output.err)));
}

Status make_bridge() {
    DET_TRY(run_ip({"link", "set", "lo", "up"}));
    DET_TRY(run_ip({"link", "add", bridge, "type", "bridge"}));
    DET_TRY(run_ip({"addr", "add", with_prefix(controller_address), "dev", bridge}));
    return run_ip({"link", "set", bridge, "up"});
}

/// Makes the veth pair; the node's end is its eth0.
Status connect_to_bridge(int index, HostNamespaces const& node) {
    // 'netns' takes a path in place of a name. The node's network namespace is an open descriptor of this
    // process.
    auto const netns = fmt::format("/proc/{}/fd/{}", ::getpid(), node.network().get());
    DET_TRY(
        run_ip({"link", "add", veth_name(index), "type", "veth", "peer", "name", "eth0", "netns", netns}));
    return run_ip({"link", "set", veth_name(index), "master", bridge, "up"});
}

/// The caller must be on the node's host.
Status configure_network_of_node(int index) {
    DET_TRY(run_ip({"link", "set", "lo", "up"}));
    DET_TRY(run_ip({"addr", "add", with_prefix(node_address(index)), "dev", "eth0"}));
    return run_ip({"link", "set", "eth0", "up"});
}

bool has_unified_hierarchy(InitOptions const& options) {
    return options.proctrack == Proctrack::cgroup &&
           find_cgroup_version().value_or(CgroupVersion::v1) == CgroupVersion::v2;
}

/// A sysfs shows the network devices of the namespace in which it was mounted; UCX and hwloc read them there.
Status mount_own_sysfs(std::vector<fs::path> const& kept) {
    return mount_over("/sys", kept, [] { return mount_file_system("sysfs", "/sys"); });
}

Status mount_private_directories(ClusterPaths const& paths, std::string const& host) {
    struct PrivateDirectory {
        char const* target;
        char const* source;
    };
    for (auto const& directory : {PrivateDirectory{"/tmp", "tmp"}, PrivateDirectory{"/var/tmp", "var-tmp"}}) {
        DET_TRY(mount_over(directory.target, {paths.state()}, [&] {
            return bind_mount(paths.host(host) / directory.source, directory.target);
        }));
    }
    return mount_file_system("tmpfs", "/dev/shm", "mode=1777");
}

/// Mounts the cluster's hosts, passwd and group files over those of /etc. An overlayfs is preferred: a bind
/// mount over a single file disappears when the host replaces the file, as useradd does. Bind mounts are used
/// where overlayfs is not available, for example in a container.
Status mount_etc_changes(ClusterPaths const& paths) {
    if (mount_overlay("/etc", paths.etc_changes(), paths.etc_scratch())) return Ok{};
    for (auto const* name : {"hosts", "passwd", "group"}) {
        DET_TRY(bind_mount(paths.etc_changes() / name, fs::path("/etc") / name));
    }
    return Ok{};
}

/// The configuration is also mounted at /etc/slurm, if the machine has that directory, because a job started
/// with --export=NONE has no SLURM_CONF.
Status mount_configuration(ClusterPaths const& paths) {
    DET_TRY(mount_etc_changes(paths));
    if (path_exists("/etc/slurm")) DET_TRY(bind_mount(paths.etc(), "/etc/slurm"));
    // Hides the socket of nscd, which would answer with the users of the host machine.
    if (path_exists("/run/nscd")) DET_TRY(mount_file_system("tmpfs", "/run/nscd"));
    return Ok{};
}

/// Mounts the plugin and the libslurm module for another Slurm over those of the build tree.
Status mount_parts(fs::path const& parts, ClusterPaths const& paths) {
    for (auto const* name : {"spank_det.so", "det_libslurm.so"}) {
        auto const target = paths.software() / "lib" / name;
        if (path_exists(target)) DET_TRY(bind_mount_read_only(parts / name, target));
    }
    return Ok{};
}

Status set_up_controller(InitOptions const& options) {
    auto const& paths = options.paths;
    DET_TRY(set_host_name(controller_host));
    DET_TRY(make_mounts_slave());
    DET_TRY(bind_mount_read_only(options.software, paths.software()));
    if (!options.slurm.parts.empty()) DET_TRY(mount_parts(options.slurm.parts, paths));
    if (options.proctrack == Proctrack::cgroup && !has_unified_hierarchy(options))
        DET_TRY(mount_freezer(paths.cgroup() / "freezer"));
    if (!options.slurm.root.empty()) DET_TRY(enter_root(options.slurm.root, paths.state()));
    DET_TRY(mount_file_system("proc", "/proc"));
    DET_TRY(mount_configuration(paths));
    if (has_unified_hierarchy(options)) {
        DET_TRY(mount_own_sysfs({}));  // without the hierarchy of this machine: Linux mounts none over itself
        DET_TRY(mount_unified_hierarchy());
    } else {
        DET_TRY(mount_own_sysfs({cgroup_directory}));
    }
    // Logins run on the controller's host too.
    return mount_private_directories(paths, login_host);
}

Status set_up_node(ClusterPaths const& paths, int index) {
    DET_TRY(set_host_name(node_name(index)));
    DET_TRY(mount_own_sysfs({cgroup_directory}));
    return mount_private_directories(paths, node_name(index));
}

Result<HostNamespaces> make_node(ClusterPaths const& paths, int index, HostNamespaces const& controller) {
    auto made = HostNamespaces::make_and_enter();
    auto set_up = made ? set_up_node(paths, index) : Status(Ok{});
    DET_TRY(controller.enter());
    DET_TRY_ASSIGN(auto node, std::move(made));
    DET_TRY(std::move(set_up));
    DET_TRY(connect_to_bridge(index, node));
    ScopedHost const on_node(node, controller);
    DET_TRY(Status(on_node.entered()));
    DET_TRY(configure_network_of_node(index));
    return node;
}

bool is_in_network(ino_t network, std::string const& pid) {
    struct stat info {};
    return ::stat(fmt::format("/proc/{}/ns/net", pid).c_str(), &info) == 0 && info.st_ino == network;
}

/// Kills the processes in the network namespace except the calling process. Returns how many there were.
int kill_all_in_network(ino_t network) {
    int found = 0;
    for (auto const& name : list_directory("/proc").value_or(std::vector<std::string>())) {
        auto const pid = parse_integer<pid_t>(name);
        if (!pid || *pid == ::getpid() || !is_in_network(network, name)) continue;
        ::kill(*pid, SIGKILL);
        ++found;
    }
    return found;
}

}  // namespace

Result<ClusterHosts> ClusterHosts::make(InitOptions const& options) {
    DET_TRY_ASSIGN(auto controller, HostNamespaces::make_and_enter());
    DET_TRY(set_up_controller(options));
    DET_TRY(make_bridge());
    ClusterHosts hosts(std::move(controller));
    for (int i = 0; i < options.nodes; ++i) {
        auto node = make_node(options.paths, i, hosts.controller_);
        if (!node) {
            return std::move(node).error().while_doing(fmt::format("making the node {}", node_name(i)));
        }
        hosts.nodes_.push_back(*std::move(node));
    }
    return hosts;
}

Status ClusterHosts::disconnect(int node) { return run_ip({"link", "set", veth_name(node), "down"}); }

Status ClusterHosts::reconnect(int node) { return run_ip({"link", "set", veth_name(node), "up"}); }

void ClusterHosts::kill_processes_on(int node) const {
    struct stat info {};
    if (::fstat(nodes_.at(static_cast<std::size_t>(node)).network().get(), &info) != 0) return;
    // The kill is repeated, because a process may fork while the list of processes is read.
    poll_until(Deadline(std::chrono::seconds(2)), [&] { return kill_all_in_network(info.st_ino) == 0; });
}

}  // namespace det::loopback
