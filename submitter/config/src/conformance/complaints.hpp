#pragma once
#include <det/foundation/result.hpp>

#include "../check.hpp"
#include "catalogue.hpp"

namespace det::config {

/// What the URL of a case stands for, or that there is no such schema.
Result<NamedSchema, std::string> require_schema(std::string_view url);

/// What a schema says of a document, as Determined renders errors: "<config>.path.to[2].field: message".
std::vector<std::string> complaints(yaml::Node const& document, NamedSchema const& schema,
                                    Checker::Phase phase);

}  // namespace det::config
