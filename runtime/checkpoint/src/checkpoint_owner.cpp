#include "checkpoint_owner.hpp"

#include <det/checkpoint/stored_manifest.hpp>
#include <det/foundation/user_name.hpp>

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace det::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr mode_t write_of_others = S_IWGRP | S_IWOTH;

bool is_absent(int error_number) { return error_number == ENOENT || error_number == ENOTDIR; }

}  // namespace

Status keep_from_others(int fd, std::string const& name) {
    struct stat info {};
    if (::fstat(fd, &info) != 0) return os_error(fmt::format("read '{}'", name), errno);
    if ((info.st_mode & write_of_others) == 0) return Ok{};
    if (::fchmod(fd, info.st_mode & 07777 & ~write_of_others) != 0)
        return os_error(fmt::format("take the permission to write '{}' away from others", name), errno);
    return Ok{};
}

Status keep_from_others(fs::path const& directory) {
    UniqueFd const fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd) return os_error(fmt::format("read '{}'", directory.string()), errno);
    return keep_from_others(fd.get(), directory.string());
}

Status check_owner(struct stat const& info, std::string const& name, std::string const& uuid,
                   std::optional<uid_t> trusted) {
    bool const is_ours = info.st_uid == ::geteuid() || info.st_uid == 0 || info.st_uid == trusted;
    if (!is_ours) {
        auto const owner = name_of_user(info.st_uid);
        return not_yours_error(uuid, fmt::format("'{}' belongs to {}", name, owner), owner);
    }
    if ((info.st_mode & S_IWOTH) != 0)
        return not_yours_error(uuid, fmt::format("all users can write to '{}'", name), "");
    return Ok{};
}

Result<std::optional<OwnedDirectory>> OwnedDirectory::open(fs::path const& path, std::string const& uuid,
                                                           std::optional<uid_t> trusted) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd && is_absent(errno)) return std::optional<OwnedDirectory>();
    if (!fd) return os_error(fmt::format("read '{}'", path.string()), errno);
    struct stat info {};
    if (::fstat(fd.get(), &info) != 0) return os_error(fmt::format("read '{}'", path.string()), errno);
    DET_TRY(check_owner(info, path.string(), uuid, trusted));
    return std::optional(OwnedDirectory(std::move(fd), path, uuid, trusted));
}

Result<std::optional<std::string>> OwnedDirectory::read_file(std::string_view name,
                                                             std::size_t limit_bytes) const {
    auto const path = (path_ / name).string();
    UniqueFd const file(
        ::openat(fd_.get(), std::string(name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file && errno == ENOENT) return std::optional<std::string>();
    if (!file && errno == ELOOP) return damaged_error(uuid_, fmt::format("'{}' is a symbolic link", name));
    if (!file) return os_error(fmt::format("read '{}'", path), errno);
    struct stat info {};
    if (::fstat(file.get(), &info) != 0) return os_error(fmt::format("read '{}'", path), errno);
    DET_TRY(check_owner(info, path, uuid_, trusted_));
    if (!S_ISREG(info.st_mode)) return damaged_error(uuid_, fmt::format("'{}' is not a regular file", name));
    std::string text;
    std::array<char, 65536> buffer{};
    for (;;) {
        auto const count = ::read(file.get(), buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return os_error(fmt::format("read '{}'", path), errno);
        if (count == 0) return std::optional(std::move(text));
        text.append(buffer.data(), static_cast<std::size_t>(count));
        if (text.size() > limit_bytes)
            return damaged_error(uuid_, fmt::format("'{}' has more than {} bytes", name, limit_bytes));
    }
}

Status OwnedDirectory::check_parent(fs::path const& relative) const {
    if (relative.empty()) return Ok{};
    DET_TRY(check_parent(relative.parent_path()));
    struct stat info {};
    if (::fstatat(fd_.get(), relative.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
        return damaged_error(uuid_, fmt::format("directory '{}' is missing", relative.string()));
    if (!S_ISDIR(info.st_mode))
        return damaged_error(uuid_, fmt::format("'{}' is not a directory", relative.string()));
    return check_owner(info, (path_ / relative).string(), uuid_, trusted_);
}

Status OwnedDirectory::check(CheckpointFile const& file) const {
    DET_TRY(check_parent(fs::path(file.path).parent_path()));
    struct stat info {};
    if (::fstatat(fd_.get(), file.path.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
        return damaged_error(uuid_, is_absent(errno)
                                        ? fmt::format("'{}' is missing", file.path)
                                        : os_error(fmt::format("read '{}'", file.path), errno).message);
    }
    if (!S_ISREG(info.st_mode))
        return damaged_error(uuid_, fmt::format("'{}' is not a regular file", file.path));
    DET_TRY(check_owner(info, (path_ / file.path).string(), uuid_, trusted_));
    if (static_cast<std::uint64_t>(info.st_size) == file.size_bytes) return Ok{};
    return damaged_error(
        uuid_, fmt::format("'{}' has {} bytes in place of {}", file.path, info.st_size, file.size_bytes));
}

}  // namespace det::checkpoint
