#pragma once
#include "schema/type.hpp"

namespace det::config {

/// Converts every value to the one form that merging and reading expect, and removes nulls. Leaves invalid
/// values unchanged.
yaml::Node normalise(yaml::Node const& value, schema::Type const& type);

}  // namespace det::config
