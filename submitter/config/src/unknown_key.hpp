#pragma once
#include "check.hpp"

namespace det::config {

/// "unknown key 'slot_per_trial' in resources", with the best hint there is: the nearest key, the place where
/// this key belongs in the `whole`, or the keys there are.
Error unknown_key(yaml::Node::Entry const& entry, yaml::Node const& owner, schema::Type const& type,
                  Path const& path, schema::Type const& whole);

}  // namespace det::config
