#include "cluster_files.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fmt/format.h>
#include <set>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "login_environment.hpp"
#include "slurm_config.hpp"

namespace det::loopback {
namespace {

namespace fs = std::filesystem;

constexpr mode_t mode_of_tmp = 01777;

/// A plain user of the cluster. Only the cluster's copies of passwd and group contain it.
struct PlainUser {
    std::string name;
    uid_t id;  // of the user and of its group
};

constexpr std::string_view plain_user_names[] = {"researcher", "colleague"};
constexpr std::string_view shared_group_name = "project";
constexpr uid_t first_user_id = 20001;

/// The plain users, and the group that has all of them as members.
struct Accounts {
    std::vector<PlainUser> users;
    gid_t shared_group = 0;
};

/// Adds the third field of each line of passwd or group: the id of the user or of the group.
void collect_ids(std::string_view database, std::set<uid_t>& ids) {
    for (auto const line : split_lines(database)) {
        auto const fields = split(line, ':');
        if (fields.size() < 3) continue;
        if (auto const id = parse_integer<uid_t>(fields[2])) ids.insert(*id);
    }
}

/// Chooses ids that neither database uses.
Accounts choose_accounts(std::string_view host_passwd, std::string_view host_group) {
    std::set<uid_t> used;
    collect_ids(host_passwd, used);
    collect_ids(host_group, used);
    Accounts accounts;
    uid_t id = first_user_id;
    auto const take_id = [&] {
        while (used.contains(id)) ++id;
        return id++;
    };
    for (auto const name : plain_user_names) accounts.users.push_back({std::string(name), take_id()});
    accounts.shared_group = take_id();
    return accounts;
}

/// The lines of the database that do not have a name of the accounts.
std::string without_accounts(std::string_view database) {
    std::string kept;
    for (auto const line : split_lines(database)) {
        auto const name = split(line, ':').front();
        bool const is_ours = name == shared_group_name ||
                             std::ranges::find(plain_user_names, name) != std::ranges::end(plain_user_names);
        if (!is_ours) kept += fmt::format("{}\n", line);
    }
    return kept;
}

std::string render_passwd(std::string_view host_passwd, Accounts const& accounts, ClusterPaths const& paths) {
    auto text = without_accounts(host_passwd);
    for (auto const& user : accounts.users) {
        text += fmt::format("{}:x:{}:{}::{}:/bin/bash\n", user.name, user.id, user.id,
                            paths.home(user.name).string());
    }
    return text;
}

std::string render_group(std::string_view host_group, Accounts const& accounts) {
    auto text = without_accounts(host_group);
    for (auto const& user : accounts.users) text += fmt::format("{}:x:{}:\n", user.name, user.id);
    text += fmt::format("{}:x:{}:{}\n", shared_group_name, accounts.shared_group,
                        fmt::join(plain_user_names, ","));
    return text;
}

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
        DET_TRY(make_directories(paths.host(host) / "tmp", mode_of_tmp));
        DET_TRY(make_directories(paths.host(host) / "var-tmp", mode_of_tmp));
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

/// The version for cgroup.conf. Without proctrack/cgroup it is one that does not need any group.
CgroupVersion cgroup_version(Proctrack proctrack) {
    auto const available = find_cgroup_version().value_or(CgroupVersion::v1);
    return proctrack == Proctrack::cgroup ? available : CgroupVersion::v1;
}

Status write_configuration(ClusterOptions const& options, Proctrack proctrack, SlurmInstallation const& slurm,
                           ClusterPaths const& paths) {
    struct File {
        char const* name;
        std::string text;
    };
    for (auto const& [name, text] : {
             File{"slurm.conf", render_slurm_conf(options, proctrack, paths)},
             File{"gres.conf", render_gres_conf(options, paths)},
             File{"cgroup.conf", render_cgroup_conf(parse_slurm_version(slurm.version),
                                                    cgroup_version(proctrack), options.profile, paths)},
             File{"plugstack.conf", render_plugstack_conf(options.plugin, paths)},
         }) {
        DET_TRY(write_file(paths.etc() / name, text, 0644));
    }
    for (auto const name : options.profile.files) {
        DET_TRY_ASSIGN(auto const text, read_file(fs::path(DET_LOOPBACK_SCRIPTS) / "profiles" / name));
        DET_TRY(write_file(paths.etc() / name, text, 0644));
    }
    DET_TRY(write_file(paths.etc_changes() / "hosts", render_etc_hosts(options.nodes), 0644));
    if (options.profile.accounting == Accounting::slurmdbd) {
        // slurmdbd refuses a file that others may read.
        DET_TRY(write_file(paths.etc() / "slurmdbd.conf", render_slurmdbd_conf(paths), 0600));
        DET_TRY(make_directories(paths.database(), 0700));
    }
    return write_munge_key(paths);
}

Status make_home(PlainUser const& user, SiteProfile const& profile, ClusterPaths const& paths) {
    auto const home = paths.home(user.name);
    DET_TRY(make_directories(home, 0700));
    // /etc/profile overwrites PATH. Without this file a script with '#!/bin/bash -l' does not find
    // det-submit's programs.
    auto const login_script = home / ".profile";
    DET_TRY(write_file(login_script, render_exports(site_variables(paths, profile, user.name)), 0644));
    DET_TRY(give_to(home, user));
    return give_to(login_script, user);
}

Status make_users(SlurmInstallation const& slurm, SiteProfile const& profile, ClusterPaths const& paths) {
    DET_TRY_ASSIGN(auto const passwd, read_file(slurm.path("/etc/passwd")));
    DET_TRY_ASSIGN(auto const group, read_file(slurm.path("/etc/group")));
    auto const accounts = choose_accounts(passwd, group);
    DET_TRY(write_file(paths.etc_changes() / "passwd", render_passwd(passwd, accounts, paths), 0644));
    DET_TRY(write_file(paths.etc_changes() / "group", render_group(group, accounts), 0644));
    for (auto const& user : accounts.users) DET_TRY(make_home(user, profile, paths));
    DET_TRY(make_directories(paths.det_root(), 0700));
    return give_to(paths.det_root(), accounts.users.front());
}

}  // namespace

Status create_cluster_files(ClusterOptions const& options, Proctrack proctrack,
                            SlurmInstallation const& slurm, ClusterPaths const& paths) {
    DET_TRY(make_directories_of(options, paths));
    DET_TRY(make_device_nodes(options.slots, paths));
    DET_TRY(make_users(slurm, options.profile, paths));
    return write_configuration(options, proctrack, slurm, paths);
}

Status remove_cluster_files(ClusterPaths const& paths, Keep keep) {
    if (keep == Keep::nothing) return remove_tree(paths.state());
    DET_TRY_ASSIGN(auto const names, list_directory(paths.state()));
    for (auto const& name : names) {
        auto const path = paths.state() / name;
        if (path != paths.log() && path != paths.shared()) DET_TRY(remove_tree(path));
    }
    return Ok{};
}

}  // namespace det::loopback
