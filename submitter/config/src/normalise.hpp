#pragma once
#include "schema/type.hpp"

namespace det::config {

/// Every value in the one form that merging and reading know, nulls taken out. What is insane stays as it is.
yaml::Node normalise(yaml::Node const& value, schema::Type const& type);

}  // namespace det::config
