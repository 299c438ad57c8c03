#pragma once
#include "check.hpp"

namespace det::config {

/// "unknown key 'slot_per_trial' in resources", with a hint: the nearest key, the section of `whole` that has
/// this key, or a list of the known keys.
Error unknown_key(yaml::Node::Entry const& entry, yaml::Node const& owner, schema::Type const& type,
                  Path const& path, schema::Type const& whole);

}  // namespace det::config
