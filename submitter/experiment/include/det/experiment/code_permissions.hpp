#pragma once
#include <det/foundation/diagnostic.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace det::experiment {

/// Which users can write a file, besides its owner.
enum class Writers {
    none,    // also if only members of the user's private group can write the file
    group,   // the members of another group that the user belongs to
    others,  // all users, or the members of a group that the user does not belong to
};

/// The owner, group and mode of a file.
struct FileAccess {
    uid_t user = 0;
    gid_t group = 0;
    mode_t mode = 0;
    std::string group_name = {};
};

/// The user of this process.
struct UserIdentity {
    uid_t user = 0;
    std::string name = {};
    std::vector<gid_t> groups = {};
};

/// Returns which users can write a file that `user` owns, besides `user`. A group with the user's name counts
/// as the user's private group, which has no other members on most systems. Pure.
Writers writers_of(FileAccess const& access, UserIdentity const& user);

/// What happens with code that a group can write.
enum class GroupWritePolicy { warned, refused };

/// Reports code that other users can change, because it runs as this user. Checks the named path only, not
/// the files below it.
void check_code_permissions(std::string_view what, std::filesystem::path const& path, GroupWritePolicy group,
                            Diagnostics& found);

}  // namespace det::experiment
