#pragma once
#include "schema/type.hpp"

namespace det::config {

/// The documented defaults of everything that is absent in a value of this type.
yaml::Node add_defaults(yaml::Node const& value, schema::Type const& type);

}  // namespace det::config
