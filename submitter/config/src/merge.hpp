#pragma once
#include <det/foundation/diagnostic.hpp>

#include "schema/type.hpp"

namespace det::config {

/// Converts every value to the one form that merging and reading expect, and removes nulls that mean absent.
/// Leaves invalid values unchanged.
yaml::Node normalise(yaml::Node const& value, schema::Type const& type);

/// Merges two normalised values. If their types conflict, reports an error and returns the higher value.
/// `type` is nullptr in the user's own data.
yaml::Node merge(yaml::Node const& high, yaml::Node const& low, schema::Type const* type,
                 std::string const& path, Diagnostics& problems);

/// Adds the documented default of every key that is absent in a value of this type.
yaml::Node add_defaults(yaml::Node const& value, schema::Type const& type);

}  // namespace det::config
