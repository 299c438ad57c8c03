#pragma once
#include <det/yaml/node.hpp>

#include <optional>
#include <string>

namespace det::config {

/// A configuration template: its file, as error locations name it, and the name by which users refer to it.
struct NamedTemplate {
    std::string file;
    std::string name;
};

/// Renders the document as YAML with a comment on each value that names its origin: "exp.yaml:3",
/// "template mpi:2", "--config max_restarts", "--test", "default". Pure.
std::string explain_config(yaml::Node const& document, std::optional<NamedTemplate> const& used = {});

}  // namespace det::config
