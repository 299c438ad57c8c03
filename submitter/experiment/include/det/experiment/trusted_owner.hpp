#pragma once
#include <det/foundation/result.hpp>

#include <optional>
#include <string>
#include <sys/types.h>

namespace det::experiment {

/// The UID of a user; nullopt if there is none of this name.
std::optional<uid_t> find_user(std::string const& name);

/// The user of the option --trust-owner, whose checkpoint a command uses like one of its own user.
/// \param name nullopt if the option is not given
/// \return codes::usage if there is no such user
Result<std::optional<uid_t>> find_trusted_owner(std::optional<std::string> const& name);

}  // namespace det::experiment
