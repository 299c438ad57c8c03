#pragma once
#include <det/protocol/json.hpp>

#include <map>
#include <string>
#include <vector>

namespace det::cli {

/// The values of a configuration by dotted path: "searcher.max_length.batches".
using ConfigValues = std::map<std::string, Json>;

/// Finds the keys whose values differ between effective configurations. Leaves out what only names an
/// experiment: name, description, labels, workspace and project. An environment variable is a key by itself;
/// its value is masked if its name says that it is a secret, and so never differs. Pure.
/// \param configs with masked secrets, as specs have them
/// \return The values of each configuration, in the order of `configs`. All have the same keys; the value of
/// a key that a configuration does not have is null.
std::vector<ConfigValues> find_config_differences(std::vector<Json> const& configs);

}  // namespace det::cli
