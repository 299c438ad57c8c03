#pragma once
#include <det/yaml/node.hpp>

namespace det::yaml {

enum class ScalarStatus { done, unknown_type, wrong_type, out_of_range };

struct TaggedScalar {
    ScalarStatus status;
    Node::Scalar value = {};
};

/// Resolves a tagged scalar: for `!!int 5`, `type_name` is "int" and `text` is "5".
TaggedScalar resolve_tagged(std::string_view type_name, std::string_view text);

}  // namespace det::yaml
