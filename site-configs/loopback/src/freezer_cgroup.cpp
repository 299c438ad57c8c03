#include "freezer_cgroup.hpp"

#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deadline.hpp"

namespace det::loopback {
namespace {

/// Returns a mount of the hierarchy that is not attached to any path.
Result<UniqueFd> open_hierarchy() {
    UniqueFd const context(::fsopen("cgroup", FSOPEN_CLOEXEC));
    if (!context || ::fsconfig(context.get(), FSCONFIG_SET_FLAG, "freezer", nullptr, 0) != 0 ||
        ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
        return os_error("open cgroup v1's freezer hierarchy", errno);
    }
    UniqueFd root(::fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
    if (!root) return os_error("open cgroup v1's freezer hierarchy", errno);
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

void write_file_in(int group, char const* file, std::string_view text) {
    UniqueFd const fd(::openat(group, file, O_WRONLY | O_CLOEXEC));
    if (fd) static_cast<void>(::write(fd.get(), text.data(), text.size()) >= 0);
}

void thaw(int group) {
    write_file_in(group, "freezer.state", "THAWED");
    for (auto const& name : child_groups(group)) {
        if (auto const child = open_directory(group, name)) thaw(child.get());
    }
}

bool remove_group(int parent, std::string const& name) {
    if (auto const group = open_directory(parent, name)) {
        for (auto const& child : child_groups(group.get())) remove_group(group.get(), child);
    }
    return ::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
}

}  // namespace

Result<FreezerGroup> FreezerGroup::make(std::string const& name) {
    DET_TRY_ASSIGN(auto const root, open_hierarchy());
    if (::mkdirat(root.get(), name.c_str(), 0755) != 0 && errno != EEXIST) {
        return os_error(fmt::format("make the cgroup '{}'", name), errno);
    }
    auto directory = open_directory(root.get(), name);
    if (!directory) return os_error(fmt::format("open the cgroup '{}'", name), errno);
    return FreezerGroup(std::move(directory));
}

Status FreezerGroup::enter() const {
    UniqueFd const file(::openat(directory_.get(), "cgroup.procs", O_WRONLY | O_CLOEXEC));
    if (!file) return os_error("open cgroup.procs", errno);
    return write_all(file.get(), "0", "cgroup.procs");
}

void thaw_freezer_group(std::string const& name) {
    auto const root = open_hierarchy();
    if (!root) return;
    if (auto const group = open_directory(root->get(), name)) thaw(group.get());
}

Status remove_freezer_group(std::string const& name) {
    auto const root = open_hierarchy();
    if (!root) return Ok{};  // without the hierarchy there is no group
    // A group is busy for a moment after its last process has ended.
    bool const removed =
        poll_until(Deadline(std::chrono::seconds(5)), [&] { return remove_group(root->get(), name); });
    if (!removed) return os_error(fmt::format("remove the cgroup '{}'", name), errno);
    return Ok{};
}

Status mount_freezer(std::filesystem::path const& directory) {
    DET_TRY(make_directories(directory, 0755));
    if (::mount("cgroup", directory.c_str(), "cgroup", MS_NOSUID | MS_NODEV | MS_NOEXEC, "freezer") != 0) {
        return os_error(fmt::format("mount the freezer hierarchy at '{}'", directory.string()), errno);
    }
    return Ok{};
}

}  // namespace det::loopback
