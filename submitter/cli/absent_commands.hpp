#pragma once
#include <det/foundation/error.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace det::cli {

/// The error of a command that Determined has and det-submit does not: codes::usage, with what serves instead
/// as the hint. nullopt if Determined has no such command.
///
/// \param group the first word, under its long name or Determined's short one
/// \param name the words after it; empty: the group itself
std::optional<Error> find_absent_command(std::string_view group, std::string_view name);

/// What serves in place of an option of a command that Determined has and det-submit does not. nullopt if
/// Determined has no such option.
std::optional<std::string> find_absent_option(std::string_view group, std::string_view command,
                                              std::string_view option);

}  // namespace det::cli
