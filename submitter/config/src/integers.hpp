#pragma once
#include "schema/type.hpp"

namespace det::config {

/// Reads the other ways to write an integer where the type wants one: 50_000, 1e3, 4.0. Leaves all other
/// values as they are; quoted text is text. Pure.
yaml::Node with_integers(yaml::Node const& value, schema::Type const& type);

}  // namespace det::config
