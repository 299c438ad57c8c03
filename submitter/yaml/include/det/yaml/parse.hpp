#pragma once
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/result.hpp>
#include <det/yaml/node.hpp>

namespace det::yaml {

/// What a document may cost. Aliases count as often as they are used: nine lines can mean a billion values.
struct Limits {
    std::size_t document_bytes = 1 << 20;
    int depth = 64;
    std::size_t values = 100'000;
    std::size_t text_bytes = 4 << 20;
};

/// One document, strictly: every problem with its place, no value guessed. An empty document is null.
Result<Node, Diagnostics> parse_document(std::string_view text, std::string file_name,
                                         Limits const& limits = {});

/// The scalar, [list] or {map} that stands in `source` from `offset` on: the value of `--config key=value`.
Result<Node, Diagnostics> parse_value(std::shared_ptr<Source const> source, std::size_t offset,
                                      Limits const& limits = {});

/// What an unquoted scalar means in the YAML 1.2 core schema; nothing for a number that 64 bits can't hold.
/// `yes`, `off`, `1_000` and dates are strings there, `010` is ten.
std::optional<Node::Scalar> resolve_plain(std::string_view text);

}  // namespace det::yaml
