#pragma once
#include <det/foundation/diagnostic.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace det::experiment {

/// Users other than its owner who can write a file.
enum class Writers {
    none,    // also if the owner is alone in the group of the file
    group,   // the members of a group that the owner belongs to
    others,  // all users, or the members of a group that the owner does not belong to
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

/// A group with the user's own name counts as one without other members, as many systems make it. Pure.
Writers writers_of(FileAccess const& access, UserIdentity const& user);

/// What happens with code that a group can write.
enum class GroupAccess { warned, refused };

/// Reports code that other users can change, because it runs as this user. Checks the named path only, not
/// the files below it.
void check_code_owner(std::string_view what, std::filesystem::path const& path, GroupAccess group,
                      Diagnostics& found);

}  // namespace det::experiment
