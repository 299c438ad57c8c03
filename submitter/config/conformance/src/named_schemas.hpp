#pragma once
#include "schema/type.hpp"

namespace det::config::conformance {

/// The node of the key tables that a schema's URL names; of a union possibly one member only.
struct NamedSchema {
    schema::Type const* type = nullptr;
    std::string_view member = {};
};

/// "environment" of "http://determined.ai/schemas/expconf/v0/environment.json".
std::string_view schema_name(std::string_view url);
std::optional<NamedSchema> find_schema(std::string_view name);

}  // namespace det::config::conformance
