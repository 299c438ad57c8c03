#pragma once
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/result.hpp>
#include <det/yaml/node.hpp>

namespace det::yaml {

/// Size limits of a document. Each use of an alias counts as a copy of its value, because nine lines with
/// aliases can expand to a billion values.
struct Limits {
    std::size_t document_bytes = 1 << 20;
    std::size_t depth = 64;
    std::size_t values = 100'000;
    std::size_t text_bytes = 4 << 20;
};

/// Parses one document strictly. An empty document is null.
/// \return The value, or all errors with their locations.
Result<Node, Diagnostics> parse_document(std::string_view text, std::string file_name,
                                         Limits const& limits = {});

/// Parses the scalar, [list] or {map} that begins at byte `offset` of `source`: the value of `--config
/// key=value`.
Result<Node, Diagnostics> parse_value(std::shared_ptr<Source const> source, std::size_t offset,
                                      Limits const& limits = {});

/// \return The value of an unquoted scalar in the YAML 1.2 core schema; nothing for a number that does not
/// fit in 64 bits. `yes`, `off`, `1_000` and dates are strings, `010` is ten.
std::optional<Node::Scalar> resolve_plain(std::string_view text);

}  // namespace det::yaml
