#pragma once
#include <string>
#include <sys/types.h>

namespace det {

/// The name of a user; his number if he has no name. Asks the user database of the machine, which may block.
std::string name_of_user(uid_t user);
/// The name of a group; its number if it has no name. Asks the group database, which may block.
std::string name_of_group(gid_t group);

}  // namespace det
