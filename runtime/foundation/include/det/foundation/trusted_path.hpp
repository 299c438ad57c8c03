#pragma once
#include <det/foundation/result.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#include <vector>

// Who can change what a program of this user runs or follows. A path is trusted if no other user but root can
// make it lead to other files: whoever can write a directory can rename what is in it.
namespace det {

/// Whether a group has no members besides the user. Debian and RHEL give each user a group of his own name
/// and the umask 002, so that his files and directories are writable by that group. Accepts a group that is
/// the primary group of the user, has his name, and lists no other member. Users whose primary group it is
/// are not listed, and a directory service need not be able to list all users; the name excludes groups such
/// as `users`, which many users have as their primary group. False if a look-up fails, and
/// for root: group 0 has other users on some systems, and root's umask is 022.
///
/// Thread safety: any thread may call it.
bool is_private_group(gid_t group, uid_t user);

/// The users that a check accepts as owners, and the groups that it accepts as writers.
struct TrustRules {
    uid_t user = ::geteuid();
    /// Directories that may belong to any user and that their group may write, for example the directory of a
    /// project. What is in them must belong to the user or to root. A directory that all users can write must
    /// be sticky nevertheless.
    std::vector<std::filesystem::path> trusted_ancestors = {};
    /// The UID of a second user whose files and directories are accepted (--trust-owner).
    std::optional<uid_t> other_owner = {};
    /// A group that may write is accepted: only the owner or root has given it the permission.
    bool accepts_groups = false;
    bool (*is_private_group)(gid_t group, uid_t user) = det::is_private_group;
    /// More trusted owners, and groups whose members may write: the owner and the group of the installed
    /// program, and those that an administrator names.
    std::vector<uid_t> owners = {};
    std::vector<gid_t> groups = {};
};

/// Whether the user, root, the other owner or one of the owners owns a file or directory.
bool has_trusted_owner(struct stat const& info, TrustRules const& rules = {});

/// Whether users besides the owner and root can write a file or directory. A private group of the user or of
/// the other owner, and one of the groups of the rules, count as none, unless the file has an ACL: then
/// the group bits of the mode are the mask of the ACL, and do not tell who may write.
///
/// \param descriptor of the file; O_PATH is enough. Not used if the rules accept groups
bool can_others_write(int descriptor, struct stat const& info, TrustRules const& rules = {});

struct FileAccess {
    struct stat info {};
    bool can_others_write = false;
};

/// Looks at what the path leads to. codes::no_such_file if it does not exist.
Result<FileAccess> load_access(std::filesystem::path const& path, TrustRules const& rules = {});

/// Checks the directories above `path`, from / down. Each must belong to the user or to root. A directory
/// that others can write must be sticky, and what is in it must belong to the user or to root. A symbolic
/// link is followed after its directory has been checked, and the path to which it points is checked too.
/// Succeeds if a directory does not exist, after the check of those above it. Does not check `path` itself,
/// except its owner if its directory is sticky or in `trusted_ancestors`.
///
/// \param path a relative path begins in the current directory
/// \return codes::unsafe_owner, with the component, its owner and its mode; codes::permission if a directory
///     can't be searched; codes::not_a_directory; codes::file_system for a loop of links
Status check_trusted_ancestors(std::filesystem::path const& path, TrustRules const& rules = {});

/// Checks as check_trusted_ancestors(), and `path` by the same rules: a file, or a directory that may be
/// sticky.
Status check_trusted_path(std::filesystem::path const& path, TrustRules const& rules = {});

/// Checks as check_trusted_path(), and refuses a sticky directory to which others can add files.
Status check_trusted_directory(std::filesystem::path const& path, TrustRules const& rules = {});

/// Returns "owner ada, group vision, mode 2775".
std::string describe_access(struct stat const& info);

}  // namespace det
