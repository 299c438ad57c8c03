#pragma once
#include <det/foundation/diagnostic.hpp>

#include "schema/type.hpp"

namespace det::config {

/// One value of two normalised ones. Where they do not fit together that is reported, and the higher one
/// stays. `type` is nullptr in the user's own data.
yaml::Node merge(yaml::Node const& high, yaml::Node const& low, schema::Type const* type,
                 std::string const& path, Diagnostics& problems);

}  // namespace det::config
