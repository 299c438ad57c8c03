#pragma once
#include <det/launchers/launchers.hpp>

namespace det::launchers {

struct LauncherArguments {
    std::vector<std::string> overrides;  // for the launcher, behind what we say
    std::vector<std::string> command;    // of each rank
};

/// Overrides are there where the first argument is an option; they end at the first "--".
Result<LauncherArguments> split_arguments(std::string_view launcher,
                                          std::vector<std::string> const& arguments);

/// The command of a rank behind its label and its watch. rank: names of variables, the launcher's first.
std::vector<std::string> watched_rank(Ground const& ground, std::string_view rank,
                                      std::vector<std::string> const& command);

}  // namespace det::launchers
