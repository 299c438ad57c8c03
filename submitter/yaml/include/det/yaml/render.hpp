#pragma once
#include <det/yaml/node.hpp>

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>

namespace det::yaml {

/// Renders block style. Parsing the text gives the same value, in YAML 1.1 parsers such as PyYAML too.
std::string render_yaml(Node const& node);

/// Renders block style and adds the text that `leaf_remark` returns as a comment after each scalar and each
/// empty list or map.
std::string render_yaml(Node const& node, std::function<std::string(Node const&)> const& leaf_remark);

/// A comment at the end of a line.
struct Comment {
    std::size_t line_end;  // the byte of the line's newline
    std::string text;      // empty: no comment
};
/// Adds the comments to the text, aligned in one column. After a line of more than 60 characters, the comment
/// follows directly. `comments` must be sorted by line. Escapes control bytes in the comments.
std::string add_comments(std::string_view text, std::span<Comment const> comments);

/// Converts a value to JSON. Infinity and NaN stay numbers in the result; nlohmann::json's dump() writes them
/// as null, because JSON cannot represent them.
nlohmann::json to_json(Node const& node);

}  // namespace det::yaml
