#pragma once
#include <det/yaml/parse.hpp>

namespace det::yaml {

/// Refuses text that is not YAML before it is parsed: too large, invalid UTF-8, control bytes.
std::optional<Error> find_invalid_text(std::shared_ptr<Source const> const& source, Limits const& limits);

}  // namespace det::yaml
