#pragma once
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/trusted_path.hpp>
#include <det/pack/context_tree.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace det::experiment {

/// Which users can write a file, besides its owner and root.
enum class Writers {
    none,    // also if only a private group can write the file (is_private_group)
    group,   // the members of another group that the user belongs to
    others,  // all users, or the members of a group that the user does not belong to
};

/// Returns which users can write a file of a user who is in `groups`. Pure.
Writers writers_of(FileAccess const& access, std::vector<gid_t> const& groups);

/// What happens with code that a group can write.
enum class GroupWritePolicy { warned, refused };

/// Reports code that other users can change, because it runs as this user. Checks the named path and the
/// directories above it, by `rules`.
void check_code_permissions(std::string_view what, std::filesystem::path const& path, GroupWritePolicy group,
                            TrustRules const& rules, Diagnostics& found);

/// Reports files and directories in listed code that a group, or another user who owns them, can change.
void check_group_code(pack::ContextTree const& tree, GroupWritePolicy group, Diagnostics& found);

}  // namespace det::experiment
