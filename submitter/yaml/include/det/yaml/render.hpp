#pragma once
#include <det/yaml/node.hpp>

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>

namespace det::yaml {

/// Block style, for people. Reading it again gives the same value, in YAML 1.1 readers such as PyYAML too.
std::string render_yaml(Node const& node);

/// With a comment behind each scalar and each empty list or map: what `remark` says of it, if anything.
std::string render_yaml(Node const& node, std::function<std::string(Node const&)> const& remark);

/// Lines whose comments begin in one column. An empty comment is none; control bytes are escaped.
struct CommentedLine {
    std::string line, comment;
};
std::string render_lines(std::span<CommentedLine const> lines);

/// Infinity and NaN, which JSON has not, become null.
nlohmann::json to_json(Node const& node);

}  // namespace det::yaml
