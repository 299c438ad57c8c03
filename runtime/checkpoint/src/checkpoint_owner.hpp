#pragma once
#include <det/foundation/files.hpp>
#include <det/foundation/trusted_path.hpp>
#include <det/protocol/checkpoint_manifest.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <sys/types.h>

namespace det::checkpoint {

// Checks the owners and modes of a checkpoint in a file system, by the rules of foundation's trusted_path. A
// checksum finds damage and no attack, because another user can compute it too. A file that only this user
// and root can change was written by them.

/// Takes the permission to write away from group and others: a committed checkpoint does not change.
Status keep_from_others(std::filesystem::path const& directory);
Status keep_from_others(int fd, std::string const& name);

/// The directory of a checkpoint that only its owner can change: this user, root or a trusted user. It is
/// opened once, so that another directory of the same name has no effect on the checks.
class OwnedDirectory {
public:
    /// \param trusted a user that may own the directory and its files besides this user and root
    /// \return nullopt if there is no such directory, or a symbolic link in its place;
    ///     codes::checkpoint_not_yours
    static Result<std::optional<OwnedDirectory>> open(std::filesystem::path const& path,
                                                      std::string const& uuid, std::optional<uid_t> trusted);

    /// Reads a file after it has checked its owner.
    /// \return nullopt if there is none; codes::checkpoint_damaged if it is a symbolic link or no regular
    /// file
    Result<std::optional<std::string>> read_file(std::string_view name, std::size_t limit_bytes) const;
    /// Checks that a file exists with its size, and the owners of it and of the directories in which it is.
    /// \return codes::checkpoint_damaged or codes::checkpoint_not_yours
    Status check(CheckpointFile const& file) const;

private:
    OwnedDirectory(UniqueFd fd, std::filesystem::path path, std::string uuid, TrustRules rules)
        : fd_(std::move(fd)), path_(std::move(path)), uuid_(std::move(uuid)), rules_(std::move(rules)) {}
    /// \param name for messages
    Status check_access(struct stat const& info, std::string const& name) const;
    Status check_parent(std::filesystem::path const& relative) const;

    UniqueFd fd_;
    std::filesystem::path path_;
    std::string uuid_;
    TrustRules rules_;
};

}  // namespace det::checkpoint
