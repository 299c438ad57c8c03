#pragma once
#include <string>
#include <sys/types.h>

namespace det {

/// The name of a user; his number if he has no name. Asks the user database of the machine, which may block.
std::string name_of_user(uid_t user);

}  // namespace det
