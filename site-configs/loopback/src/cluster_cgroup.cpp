#include "cluster_cgroup.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deadline.hpp"

namespace det::loopback {
namespace {

constexpr std::string_view controllers[] = {"cpuset", "cpu", "memory", "pids"};
// The groups that systemd makes on a machine, and in which Slurm looks.
constexpr char const *init_group = "init.scope", *system_slice = "system.slice";

/// Returns a mount of the hierarchy that is not attached to any path.
Result<UniqueFd> open_hierarchy(CgroupVersion version) {
    bool const is_v1 = version == CgroupVersion::v1;
    auto const what = is_v1 ? "open cgroup v1's freezer hierarchy" : "open cgroup v2's hierarchy";
    UniqueFd const context(::fsopen(is_v1 ? "cgroup" : "cgroup2", FSOPEN_CLOEXEC));
    if (!context || (is_v1 && ::fsconfig(context.get(), FSCONFIG_SET_FLAG, "freezer", nullptr, 0) != 0) ||
        ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
        return os_error(what, errno);
    }
    UniqueFd root(::fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
    if (!root) return os_error(what, errno);
    return root;
}

UniqueFd open_directory(int parent, std::string const& name) {
    return UniqueFd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

std::vector<std::string> child_groups(int group) {
    auto const close = [](DIR* directory) { ::closedir(directory); };
    // A second descriptor, because fdopendir takes ownership of it and moves its position.
    std::unique_ptr<DIR, decltype(close)> const directory(::fdopendir(open_directory(group, ".").release()),
                                                          close);
    std::vector<std::string> names;
    while (auto const* entry = directory ? ::readdir(directory.get()) : nullptr) {
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    }
    return names;
}

Status write_file_in(int group, char const* file, std::string_view text) {
    UniqueFd const fd(::openat(group, file, O_WRONLY | O_CLOEXEC));
    if (!fd) return os_error(fmt::format("open {}", file), errno);
    return write_all(fd.get(), text, file);
}

Result<UniqueFd> make_group(int parent, std::string const& name) {
    if (::mkdirat(parent, name.c_str(), 0755) != 0 && errno != EEXIST)
        return os_error(fmt::format("make the cgroup '{}'", name), errno);
    auto directory = open_directory(parent, name);
    if (!directory) return os_error(fmt::format("open the cgroup '{}'", name), errno);
    return directory;
}

/// Gives the controllers to the groups below a group of cgroup v2.
Status pass_controllers(int group) {
    for (auto const controller : controllers)
        DET_TRY(write_file_in(group, "cgroup.subtree_control", fmt::format("+{}", controller)));
    return Ok{};
}

bool has_controllers(int root) {
    UniqueFd const file(::openat(root, "cgroup.controllers", O_RDONLY | O_CLOEXEC));
    std::string text(512, '\0');
    auto const size = file ? ::read(file.get(), text.data(), text.size()) : -1;
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    auto const found = split(trim(text), ' ');
    return std::ranges::all_of(
        controllers, [&](auto const each) { return std::ranges::find(found, each) != found.end(); });
}

void thaw(int group, CgroupVersion version) {
    bool const is_v1 = version == CgroupVersion::v1;
    // Fails for the root, which can't be frozen, and for a group that has just been removed.
    static_cast<void>(
        write_file_in(group, is_v1 ? "freezer.state" : "cgroup.freeze", is_v1 ? "THAWED" : "0"));
    for (auto const& name : child_groups(group)) {
        if (auto const child = open_directory(group, name)) thaw(child.get(), version);
    }
}

bool remove_group(int parent, std::string const& name) {
    if (auto const group = open_directory(parent, name)) {
        for (auto const& child : child_groups(group.get())) remove_group(group.get(), child);
    }
    return ::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
}

Status mount_hierarchy(char const* type, std::filesystem::path const& directory, char const* options) {
    DET_TRY(make_directories(directory, 0755));
    if (::mount(type, directory.c_str(), type, MS_NOSUID | MS_NODEV | MS_NOEXEC, options) != 0)
        return os_error(fmt::format("mount the hierarchy of cgroups at '{}'", directory.string()), errno);
    return Ok{};
}

}  // namespace

Result<CgroupVersion> find_cgroup_version() {
    // Linux can also mount a freezer of cgroup v1 on a machine whose systemd and Slurm use v2.
    auto const unified = open_hierarchy(CgroupVersion::v2);
    if (unified && has_controllers(unified->get())) return CgroupVersion::v2;
    auto const freezer = open_hierarchy(CgroupVersion::v1);
    if (freezer) return CgroupVersion::v1;
    return freezer.error();
}

Result<ClusterGroup> ClusterGroup::make(std::string const& name) {
    DET_TRY_ASSIGN(auto const version, find_cgroup_version());
    DET_TRY_ASSIGN(auto const root, open_hierarchy(version));
    if (version == CgroupVersion::v2) DET_TRY(pass_controllers(root.get()));
    DET_TRY_ASSIGN(auto directory, make_group(root.get(), name));
    return ClusterGroup(version, std::move(directory));
}

Status ClusterGroup::enter_as_root() const {
    DET_TRY(write_file_in(directory_.get(), "cgroup.procs", "0"));
    if (::unshare(CLONE_NEWCGROUP) != 0) return os_error("make a cgroup namespace", errno);
    if (version_ == CgroupVersion::v1) return Ok{};
    DET_TRY_ASSIGN(auto const init, make_group(directory_.get(), init_group));
    DET_TRY(write_file_in(init.get(), "cgroup.procs", "0"));
    DET_TRY(pass_controllers(directory_.get()));
    DET_TRY_ASSIGN(auto const slice, make_group(directory_.get(), system_slice));
    return pass_controllers(slice.get());
}

void thaw_cluster_group(std::string const& name) {
    auto const version = find_cgroup_version();
    if (!version) return;
    auto const root = open_hierarchy(*version);
    if (!root) return;
    if (auto const group = open_directory(root->get(), name)) thaw(group.get(), *version);
}

Status remove_cluster_group(std::string const& name) {
    auto const version = find_cgroup_version();
    if (!version) return Ok{};  // without a hierarchy there is no group
    DET_TRY_ASSIGN(auto const root, open_hierarchy(*version));
    // A group is busy for a moment after its last process has ended.
    bool const removed =
        poll_until(Deadline(std::chrono::seconds(5)), [&] { return remove_group(root.get(), name); });
    if (!removed) return os_error(fmt::format("remove the cgroup '{}'", name), errno);
    return Ok{};
}

Status mount_freezer(std::filesystem::path const& directory) {
    return mount_hierarchy("cgroup", directory, "freezer");
}

Status mount_unified_hierarchy() { return mount_hierarchy("cgroup2", "/sys/fs/cgroup", ""); }

}  // namespace det::loopback
