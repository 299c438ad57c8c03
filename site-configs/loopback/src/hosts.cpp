#include "hosts.hpp"

#include <det/foundation/text.hpp>

#include <cerrno>
#include <csignal>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deadline.hpp"
#include "freezer.hpp"
#include "mounts.hpp"

namespace det::loopback {
namespace {

namespace fs = std::filesystem;

/// sysfs shows the network devices of whoever mounts it; UCX and hwloc look there.
Status mount_own_sysfs() {
    return mount_over("/sys", {"/sys/fs/cgroup"}, [] { return mount_file_system("sysfs", "/sys"); });
}

Status mount_private_directories(ClusterPaths const& paths, std::string const& host) {
    struct Private {
        char const* where;
        char const* name;
    };
    for (auto const& directory : {Private{"/tmp", "tmp"}, Private{"/var/tmp", "var-tmp"}}) {
        DET_TRY(mount_over(directory.where, {paths.state()},
                           [&] { return bind_mount(paths.host(host) / directory.name, directory.where); }));
    }
    return mount_file_system("tmpfs", "/dev/shm", "mode=1777");
}

/// Hosts and users of the cluster. A file that is mounted over a file goes when the host replaces its own (as
/// useradd does), so that is only for where there is no overlayfs: in a container, say.
Status mount_changes_of_etc(ClusterPaths const& paths) {
    if (mount_overlay("/etc", paths.etc_changes(), paths.etc_scratch())) return Ok{};
    for (auto const* name : {"hosts", "passwd", "group"}) {
        DET_TRY(bind_mount(paths.etc_changes() / name, fs::path("/etc") / name));
    }
    return Ok{};
}

/// Slurm's own place for its configuration too: a job started with --export=NONE has no SLURM_CONF.
Status mount_configuration(ClusterPaths const& paths) {
    DET_TRY(mount_changes_of_etc(paths));
    if (path_exists("/etc/slurm")) DET_TRY(bind_mount(paths.etc(), "/etc/slurm"));
    // A name service cache would answer with the host's users.
    if (path_exists("/run/nscd")) DET_TRY(mount_file_system("tmpfs", "/run/nscd"));
    return Ok{};
}

Status furnish_controller(KeeperOptions const& options) {
    auto const& paths = options.paths;
    DET_TRY(set_host_name(controller_host));
    DET_TRY(keep_mounts_to_ourselves());
    DET_TRY(mount_file_system("proc", "/proc"));
    DET_TRY(bind_mount_read_only(options.software, paths.software()));
    if (options.proctrack == Proctrack::cgroup) DET_TRY(mount_freezer(paths.cgroup() / "freezer"));
    DET_TRY(mount_configuration(paths));
    DET_TRY(mount_own_sysfs());
    // The controller and those who log in share a host.
    return mount_private_directories(paths, login_host);
}

Status furnish_node(ClusterPaths const& paths, int index) {
    DET_TRY(set_host_name(node_name(index)));
    DET_TRY(mount_own_sysfs());
    return mount_private_directories(paths, node_name(index));
}

Result<HostNamespaces> make_node(ClusterPaths const& paths, int index, HostNamespaces const& home,
                                 Network& network) {
    auto made = HostNamespaces::make_and_enter();
    auto furnished = made ? furnish_node(paths, index) : Status(Ok{});
    DET_TRY(home.enter());
    DET_TRY_ASSIGN(auto node, std::move(made));
    DET_TRY(std::move(furnished));
    DET_TRY(network.plug_in(index, node));
    Visit const visit(node, home);
    DET_TRY(Status(visit.arrived()));
    DET_TRY(network.configure_node(index));
    return node;
}

bool lives_in(ino_t network, std::string const& pid) {
    struct stat info {};
    return ::stat(fmt::format("/proc/{}/ns/net", pid).c_str(), &info) == 0 && info.st_ino == network;
}

/// Number of processes found.
int kill_once(ino_t network) {
    int found = 0;
    for (auto const& name : list_directory("/proc").value_or(std::vector<std::string>())) {
        auto const pid = parse_integer<pid_t>(name);
        if (!pid || *pid == ::getpid() || !lives_in(network, name)) continue;
        ::kill(*pid, SIGKILL);
        ++found;
    }
    return found;
}

}  // namespace

Result<Hosts> Hosts::make(KeeperOptions const& options, Network& network) {
    DET_TRY_ASSIGN(auto controller, HostNamespaces::make_and_enter());
    DET_TRY(furnish_controller(options));
    DET_TRY(network.make_bridge());
    Hosts hosts(std::move(controller));
    for (int i = 0; i < options.nodes; ++i) {
        auto node = make_node(options.paths, i, hosts.controller_, network);
        if (!node) {
            return std::move(node).error().while_doing(fmt::format("making the node {}", node_name(i)));
        }
        hosts.nodes_.push_back(*std::move(node));
    }
    return hosts;
}

void Hosts::kill_processes_on(int node) const {
    struct stat info {};
    if (::fstat(nodes_.at(static_cast<std::size_t>(node)).network().get(), &info) != 0) return;
    // Again, because one may just have forked.
    poll_until(Deadline(std::chrono::seconds(2)), [&] { return kill_once(info.st_ino) == 0; });
}

}  // namespace det::loopback
