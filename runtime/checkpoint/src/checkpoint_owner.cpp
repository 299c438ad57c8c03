#include "checkpoint_owner.hpp"

#include <det/checkpoint/stored_manifest.hpp>
#include <det/foundation/descriptor_contents.hpp>
#include <det/foundation/user_name.hpp>

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

// A commit takes the permission to write away from groups. Only the owner or root can give it to one again.
Status OwnedDirectory::check_access(struct stat const& info, std::string const& name) const {
    if (!has_trusted_owner(info, rules_)) {
        auto const owner = name_of_user(info.st_uid);
        return not_yours_error(uuid_, fmt::format("'{}' belongs to {}", name, owner), owner);
    }
    if (can_others_write(fd_.get(), info, rules_))
        return not_yours_error(uuid_, fmt::format("all users can write to '{}'", name), "");
    return Ok{};
}

Result<std::optional<OwnedDirectory>> OwnedDirectory::open(fs::path const& path, std::string const& uuid,
                                                           std::optional<uid_t> trusted) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd && is_absent(errno)) return std::optional<OwnedDirectory>();
    struct stat info {};
    if (!fd || ::fstat(fd.get(), &info) != 0) return os_error(fmt::format("read '{}'", path.string()), errno);
    TrustRules rules;
    rules.other_owner = trusted;
    rules.accepts_groups = true;
    OwnedDirectory directory(std::move(fd), path, uuid, std::move(rules));
    DET_TRY(directory.check_access(info, path.string()));
    return std::optional(std::move(directory));
}

Result<std::optional<std::string>> OwnedDirectory::read_file(std::string_view name,
                                                             std::size_t limit_bytes) const {
    auto const path = path_ / name;
    UniqueFd const file(
        ::openat(fd_.get(), std::string(name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file && errno == ENOENT) return std::optional<std::string>();
    if (!file && errno == ELOOP) return damaged_error(uuid_, fmt::format("'{}' is a symbolic link", name));
    struct stat info {};
    if (!file || ::fstat(file.get(), &info) != 0)
        return os_error(fmt::format("read '{}'", path.string()), errno);
    DET_TRY(check_access(info, path.string()));
    if (!S_ISREG(info.st_mode)) return damaged_error(uuid_, fmt::format("'{}' is not a regular file", name));
    auto text = read_descriptor(file.get(), path, limit_bytes);
    if (!text && text.error().code == codes::document_too_large)
        return damaged_error(uuid_, fmt::format("'{}' has more than {} bytes", name, limit_bytes));
    if (!text) return std::move(text).error();
    return std::optional(*std::move(text));
}

Status OwnedDirectory::check_parent(fs::path const& relative) const {
    if (relative.empty()) return Ok{};
    DET_TRY(check_parent(relative.parent_path()));
    struct stat info {};
    if (::fstatat(fd_.get(), relative.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
        return damaged_error(uuid_, fmt::format("directory '{}' is missing", relative.string()));
    if (!S_ISDIR(info.st_mode))
        return damaged_error(uuid_, fmt::format("'{}' is not a directory", relative.string()));
    return check_access(info, (path_ / relative).string());
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
    DET_TRY(check_access(info, (path_ / file.path).string()));
    if (static_cast<std::uint64_t>(info.st_size) == file.size_bytes) return Ok{};
    return damaged_error(
        uuid_, fmt::format("'{}' has {} bytes in place of {}", file.path, info.st_size, file.size_bytes));
}

}  // namespace det::checkpoint
