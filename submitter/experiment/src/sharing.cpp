#include <det/experiment/sharing.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/foundation/trusted_path.hpp>
#include <det/foundation/user_name.hpp>

#include <array>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace det::experiment {
namespace {

namespace fs = std::filesystem;

constexpr mode_t group_reads = S_IRGRP | S_IXGRP;
constexpr std::size_t file_size_max_bytes = 64;

fs::path sharing_file(RootLayout const& root) { return root.path() / "sharing"; }

/// The root comes first: directories that are made in it get its group.
std::array<fs::path, 4> common_directories(RootLayout const& root) {
    return {root.path(), root.experiments(), root.contexts(), root.checkpoints()};
}

Status set_mode(fs::path const& path, mode_t mode) {
    if (::chmod(path.c_str(), mode) == 0) return Ok{};
    return os_error(fmt::format("set the mode of '{}'", path.string()), errno);
}

/// \param group of the root: directories that were made before the root got it have another one
Status share(fs::path const& path, gid_t group) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return os_error(fmt::format("look at '{}'", path.string()), errno);
    if (info.st_gid == group && shares_new_files(path)) return Ok{};
    if (info.st_gid != group && ::chown(path.c_str(), static_cast<uid_t>(-1), group) != 0)
        return os_error(fmt::format("give '{}' to the group '{}'", path.string(), name_of_group(group)),
                        errno);
    DET_TRY(set_mode(path, (info.st_mode & 0777) | S_ISGID | group_reads));
    // The kernel drops the bit without an error for users who are not in the group.
    if (shares_new_files(path)) return Ok{};
    return Error{codes::permission,
                 fmt::format("'{}' can't be shared with its group '{}'", path.string(), name_of_group(group)),
                 fmt::format("you must be in the group: chgrp GROUP '{}'", path.string())};
}

/// New files get no group; the group can go on reading those that it was given.
Status stop_sharing(fs::path const& path) {
    struct stat info {};
    if (!shares_new_files(path) || ::stat(path.c_str(), &info) != 0) return Ok{};
    return set_mode(path, info.st_mode & 0777);
}

/// A file that was made while the root was private.
Status share_file(fs::path const& file, gid_t group) {
    if (!path_exists(file)) return Ok{};
    if (::chown(file.c_str(), static_cast<uid_t>(-1), group) != 0)
        return os_error(fmt::format("give '{}' to the group '{}'", file.string(), name_of_group(group)),
                        errno);
    return set_mode(file, 0640);
}

}  // namespace

Result<config::Sharing> find_sharing(RootLayout const& root, config::SiteFile const& site) {
    auto const file = sharing_file(root);
    if (!path_exists(file)) return site.sharing;
    DET_TRY_ASSIGN(auto const text, read_trusted_file(file, file_size_max_bytes));
    if (auto const sharing = config::parse_sharing(trim(text))) return *sharing;
    return Error{codes::damaged, fmt::format("'{}' is neither 'private' nor 'group'", file.string()),
                 "set it anew: 'det-submit config set sharing private'"};
}

Status record_sharing(RootLayout const& root, config::Sharing sharing) {
    DET_TRY(apply_sharing(root, sharing));
    return write_file(sharing_file(root), fmt::format("{}\n", to_string(sharing)));
}

Status apply_sharing(RootLayout const& root, config::Sharing sharing) {
    DET_TRY(make_directories(root.path()));
    struct stat info {};
    if (::stat(root.path().c_str(), &info) != 0)
        return os_error(fmt::format("look at '{}'", root.path().string()), errno);
    for (auto const& path : common_directories(root)) {
        if (sharing == config::Sharing::group) {
            DET_TRY(make_directories(path));
            DET_TRY(share(path, info.st_gid));
        } else {
            DET_TRY(stop_sharing(path));
        }
    }
    return sharing == config::Sharing::group ? share_file(root.path() / "format", info.st_gid) : Status(Ok{});
}

Status share_code(RootLayout const& root, std::string const& sha256) {
    struct stat info {};
    if (!shares_new_files(root.contexts()) || ::stat(root.contexts().c_str(), &info) != 0) return Ok{};
    return share_file(root.context(sha256), info.st_gid);
}

std::optional<std::string> find_group_of_one(RootLayout const& root) {
    struct stat info {};
    if (::stat(root.path().c_str(), &info) != 0 || !is_private_group(info.st_gid, info.st_uid))
        return std::nullopt;
    return name_of_group(info.st_gid);
}

}  // namespace det::experiment
