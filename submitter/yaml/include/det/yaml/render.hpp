#pragma once
#include <det/yaml/node.hpp>

#include <nlohmann/json_fwd.hpp>

namespace det::yaml {

/// Block style, for people. Reading it again gives the same value, in YAML 1.1 readers such as PyYAML too.
std::string render_yaml(Node const& node);

/// Infinity and NaN, which JSON has not, become null.
nlohmann::json to_json(Node const& node);

}  // namespace det::yaml
