#pragma once
#include "schema/type.hpp"

namespace det::config::conformance {

/// Converts a normalised value to the form in which Determined writes it: constants are
/// {type: const, val: ...}. Sets are sorted, because their order means nothing.
yaml::Node as_written_by_determined(yaml::Node const& value, schema::Type const& type);

/// \return The first difference, as a message; nothing if both are equal. "*" expects any value except null.
/// Null and absent are equal, because releases of Determined differ in which absent fields they write.
std::optional<std::string> find_difference(yaml::Node const& expected, yaml::Node const& found);

}  // namespace det::config::conformance
