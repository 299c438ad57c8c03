#pragma once
#include <det/foundation/diagnostic.hpp>

#include "schema/type.hpp"

namespace det::config {

/// Merges two normalised values. If their types conflict, reports an error and returns the higher value.
/// `type` is nullptr in the user's own data.
yaml::Node merge(yaml::Node const& high, yaml::Node const& low, schema::Type const* type,
                 std::string const& path, Diagnostics& problems);

}  // namespace det::config
