#pragma once
#include "../schema/type.hpp"

namespace det::config {

/// What a schema's URL stands for: a node of the key tables, of a union perhaps one member only.
struct NamedSchema {
    schema::Type const* type = nullptr;
    std::string_view member = {};
};

/// "environment" of "http://determined.ai/schemas/expconf/v0/environment.json".
std::string_view schema_name(std::string_view url);
std::optional<NamedSchema> find_schema(std::string_view name);

}  // namespace det::config
