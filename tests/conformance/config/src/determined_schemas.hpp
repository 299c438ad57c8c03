#pragma once
#include "schema/type.hpp"

// Determined's schemas by their names, and the form in which Determined writes a configuration.
namespace det::config::conformance {

/// The type of the key tables that corresponds to a schema. `member` is set if the schema describes one
/// member of a union only.
struct NamedSchema {
    schema::Type const* type = nullptr;
    std::string_view member = {};
};

/// "environment" of "http://determined.ai/schemas/expconf/v0/environment.json".
std::string_view schema_name(std::string_view url);
std::optional<NamedSchema> find_schema(std::string_view name);

/// Converts a normalised value to the form in which Determined writes it: constants are
/// {type: const, val: ...}. Sets are sorted, because their order means nothing.
yaml::Node as_written_by_determined(yaml::Node const& value, schema::Type const& type);

/// \return The first difference, as a message; nothing if both are equal. "*" expects any value except null.
/// Null and absent are equal, because releases of Determined differ in which absent fields they write.
std::optional<std::string> find_difference(yaml::Node const& expected, yaml::Node const& found);

}  // namespace det::config::conformance
