#pragma once
#include <det/yaml/node.hpp>

#include <optional>
#include <string>

namespace det::cli {

/// Renders the document as YAML with a comment on each value that names its origin: "exp.yaml:3",
/// "template mpi:2", "--config max_restarts", "default". Pure.
std::string explain_config(yaml::Node const& document, std::optional<std::string> const& template_name,
                           std::optional<std::string> const& template_file);

}  // namespace det::cli
