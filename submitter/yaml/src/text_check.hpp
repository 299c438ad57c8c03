#pragma once
#include <det/yaml/parse.hpp>

namespace det::yaml {

/// Refuses what no YAML may hold, before the parser sees it: too much, bytes that are no UTF-8, control
/// bytes.
std::optional<Error> find_invalid_text(std::shared_ptr<Source const> const& source, Limits const& limits);

}  // namespace det::yaml
