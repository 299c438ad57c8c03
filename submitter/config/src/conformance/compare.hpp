#pragma once
#include "../schema/type.hpp"

namespace det::config {

/// As Determined writes a normalised value: constants are {type: const, val: ...}; sets are sorted, because
/// their order means nothing.
yaml::Node as_written_by_determined(yaml::Node const& value, schema::Type const& type);

/// The first difference, in words; nothing where they are equal. "*" expects anything that is not null; null
/// and absent are the same, so that it does not matter which absent fields a release of Determined leaves
/// out.
std::optional<std::string> find_difference(yaml::Node const& expected, yaml::Node const& found);

}  // namespace det::config
