#include "state_directory.hpp"

#include <det/foundation/files.hpp>

#include <array>
#include <cerrno>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "login_environment.hpp"
#include "slurm_config.hpp"
#include "users.hpp"

namespace det::loopback {
namespace {

namespace fs = std::filesystem;

constexpr mode_t like_tmp = 01777;

Status give_to(fs::path const& path, PlainUser const& user) {
    if (::chown(path.c_str(), user.id, user.id) != 0) {
        return os_error(fmt::format("give '{}' to {}", path.string(), user.name), errno);
    }
    return Ok{};
}

Status make_directories_of(ClusterOptions const& options, ClusterPaths const& paths) {
    for (auto const& directory :
         {paths.state(), paths.etc(), paths.etc_changes(), paths.etc_scratch(), paths.run(), paths.log(),
          paths.spool(), paths.cgroup(), paths.dev(), paths.shared(), paths.shared() / "home",
          paths.software(), paths.state() / "nodes"}) {
        DET_TRY(make_directories(directory, 0755));
    }
    DET_TRY(make_directories(paths.ctld(), 0700));
    auto hosts = std::vector<std::string>{login_host};
    for (int i = 0; i < options.nodes; ++i) hosts.push_back(node_name(i));
    for (auto const& host : hosts) {
        DET_TRY(make_directories(paths.host(host), 0755));
        DET_TRY(make_directories(paths.host(host) / "tmp", like_tmp));
        DET_TRY(make_directories(paths.host(host) / "var-tmp", like_tmp));
    }
    return Ok{};
}

Status make_device_nodes(int slots, ClusterPaths const& paths) {
    constexpr unsigned memory_devices = 1, null_device = 3;
    for (int i = 0; i < slots; ++i) {
        auto const path = paths.dev() / fmt::format("gpu{}", i);
        if (::mknod(path.c_str(), S_IFCHR | 0666, makedev(memory_devices, null_device)) != 0 ||
            ::chmod(path.c_str(), 0666) != 0) {
            return os_error(fmt::format("make the device '{}'", path.string()), errno);
        }
    }
    return Ok{};
}

Status write_munge_key(ClusterPaths const& paths) {
    std::array<char, 128> key;
    if (::getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) {
        return os_error("get random bytes", errno);
    }
    return write_file(paths.etc() / "munge.key", {key.data(), key.size()}, 0400);
}

Status write_configuration(ClusterOptions const& options, Proctrack proctrack, ClusterPaths const& paths) {
    struct File {
        char const* name;
        std::string text;
    };
    for (auto const& [name, text] : {
             File{"slurm.conf", render_slurm_conf(options, proctrack, paths)},
             File{"gres.conf", render_gres_conf(options, paths)},
             File{"cgroup.conf", render_cgroup_conf(paths)},
             File{"plugstack.conf", render_plugstack_conf(options.plugin, paths)},
         }) {
        DET_TRY(write_file(paths.etc() / name, text, 0644));
    }
    DET_TRY(write_file(paths.etc_changes() / "hosts", render_hosts(options.nodes), 0644));
    return write_munge_key(paths);
}

Status make_home(PlainUser const& user, ClusterPaths const& paths) {
    auto const home = paths.home(user.name);
    DET_TRY(make_directories(home, 0700));
    // /etc/profile sets PATH anew, so a script that begins with '#!/bin/bash -l' would not find our programs.
    auto const profile = home / ".profile";
    DET_TRY(write_file(profile, render_exports(site_variables(paths, user.name)), 0644));
    DET_TRY(give_to(home, user));
    return give_to(profile, user);
}

Status make_users(ClusterPaths const& paths) {
    DET_TRY_ASSIGN(auto const passwd, read_file("/etc/passwd"));
    DET_TRY_ASSIGN(auto const group, read_file("/etc/group"));
    auto const users = choose_plain_users(passwd, group);
    DET_TRY(write_file(paths.etc_changes() / "passwd", render_passwd(passwd, users, paths), 0644));
    DET_TRY(write_file(paths.etc_changes() / "group", render_group(group, users), 0644));
    for (auto const& user : users) DET_TRY(make_home(user, paths));
    DET_TRY(make_directories(paths.det_root(), 0700));
    return give_to(paths.det_root(), users.front());
}

}  // namespace

Status make_state_directory(ClusterOptions const& options, Proctrack proctrack, ClusterPaths const& paths) {
    DET_TRY(make_directories_of(options, paths));
    DET_TRY(make_device_nodes(options.slots, paths));
    DET_TRY(make_users(paths));
    return write_configuration(options, proctrack, paths);
}

Status remove_state_directory(ClusterPaths const& paths, Keep keep) {
    if (keep == Keep::nothing) return remove_tree(paths.state());
    DET_TRY_ASSIGN(auto const names, list_directory(paths.state()));
    for (auto const& name : names) {
        auto const path = paths.state() / name;
        if (path != paths.log() && path != paths.shared()) DET_TRY(remove_tree(path));
    }
    return Ok{};
}

}  // namespace det::loopback
