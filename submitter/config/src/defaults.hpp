#pragma once
#include "schema/type.hpp"

namespace det::config {

/// Adds the documented default of every key that is absent in a value of this type.
yaml::Node add_defaults(yaml::Node const& value, schema::Type const& type);

}  // namespace det::config
