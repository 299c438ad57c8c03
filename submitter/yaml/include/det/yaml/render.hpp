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

/// What is said behind a line.
struct Comment {
    std::size_t line_end;  // the byte of the line's newline
    std::string text;      // empty: no comment
};
/// The text with its comments, in the order of their lines, all from one column on. Control bytes in them are
/// escaped.
std::string add_comments(std::string_view text, std::span<Comment const> comments);

/// Infinity and NaN, which JSON has not, become null.
nlohmann::json to_json(Node const& node);

}  // namespace det::yaml
