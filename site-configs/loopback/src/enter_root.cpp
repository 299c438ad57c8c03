#include "enter_root.hpp"

#include <det/foundation/files.hpp>

#include <cerrno>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mounts.hpp"

namespace det::loopback {
namespace {

namespace fs = std::filesystem;

/// Exchanges the root directory. chroot(2) would not do: the root directory of a process must be a mount
/// point, or making mounts private fails.
Status pivot_to(fs::path const& root) {
    if (::chdir(root.c_str()) != 0) return os_error(fmt::format("enter '{}'", root.string()), errno);
    // With "." for both, the old root is mounted over the new one, and unmounted from there.
    if (::syscall(SYS_pivot_root, ".", ".") != 0 || ::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0) {
        return os_error(fmt::format("make '{}' the root directory", root.string()), errno);
    }
    return Ok{};
}

}  // namespace

Status enter_root(fs::path const& root, fs::path const& state) {
    auto const state_inside = root / state.relative_path();
    DET_TRY(make_directories(state_inside.parent_path(), 0755));
    DET_TRY(bind_mount_read_only(root, root));
    for (auto const* directory : {"dev", "sys"}) {
        DET_TRY(bind_mount(fs::path("/") / directory, root / directory));
    }
    DET_TRY(mount_file_system("tmpfs", root / "run", "mode=755"));
    // Hides the state directories of other clusters: in the new root, the parent directory has only `state`.
    DET_TRY(mount_file_system("tmpfs", state_inside.parent_path(), "mode=755"));
    DET_TRY(make_directories(state_inside, 0755));
    DET_TRY(bind_mount(state, state_inside));
    return pivot_to(root);
}

}  // namespace det::loopback
