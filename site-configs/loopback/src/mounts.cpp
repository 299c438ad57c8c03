#include "mounts.hpp"

#include <det/foundation/files.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <unistd.h>

namespace det::loopback {
namespace {

namespace fs = std::filesystem;

bool is_below(fs::path const& path, fs::path const& directory) {
    auto const [end, ignored] = std::mismatch(directory.begin(), directory.end(), path.begin(), path.end());
    return end == directory.end();
}

struct DetachedTree {
    fs::path path;
    UniqueFd tree;
};

Result<DetachedTree> clone_tree(fs::path const& path) {
    UniqueFd tree(::open_tree(AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
    if (!tree) return os_error(fmt::format("clone the mount '{}'", path.string()), errno);
    return DetachedTree{path, std::move(tree)};
}

Status attach(DetachedTree const& detached) {
    DET_TRY(make_directories(detached.path, 0755));
    if (::move_mount(detached.tree.get(), "", AT_FDCWD, detached.path.c_str(), MOVE_MOUNT_F_EMPTY_PATH) !=
        0) {
        return os_error(fmt::format("mount '{}' again", detached.path.string()), errno);
    }
    return Ok{};
}

}  // namespace

Status make_mounts_slave() {
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
        return os_error("make the mounts slaves of the host's", errno);
    }
    return Ok{};
}

Status bind_mount(fs::path const& source, fs::path const& target) {
    if (::mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) {
        return os_error(fmt::format("bind '{}' to '{}'", source.string(), target.string()), errno);
    }
    return Ok{};
}

Status bind_mount_read_only(fs::path const& source, fs::path const& target) {
    DET_TRY(bind_mount(source, target));
    if (::mount(nullptr, target.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
        return os_error(fmt::format("make '{}' read-only", target.string()), errno);
    }
    return Ok{};
}

Status mount_file_system(std::string const& type, fs::path const& target, std::string const& options) {
    if (::mount(type.c_str(), target.c_str(), type.c_str(), MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
        return os_error(fmt::format("mount {} at '{}'", type, target.string()), errno);
    }
    return Ok{};
}

Status mount_overlay(fs::path const& directory, fs::path const& changes, fs::path const& scratch) {
    auto const options = fmt::format("lowerdir={},upperdir={},workdir={}", directory.string(),
                                     changes.string(), scratch.string());
    if (::mount("overlay", directory.c_str(), "overlay", 0, options.c_str()) != 0) {
        return os_error(fmt::format("mount an overlay over '{}'", directory.string()), errno);
    }
    return Ok{};
}

Status mount_over(fs::path const& directory, std::vector<fs::path> const& kept,
                  std::function<Status()> const& mount) {
    std::vector<DetachedTree> trees;
    for (auto const& path : kept) {
        if (!is_below(path, directory) || !path_exists(path)) continue;
        DET_TRY_ASSIGN(auto tree, clone_tree(path));
        trees.push_back(std::move(tree));
    }
    DET_TRY(mount());
    for (auto const& tree : trees) DET_TRY(attach(tree));
    return Ok{};
}

}  // namespace det::loopback
