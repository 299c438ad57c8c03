#pragma once
#include <det/yaml/node.hpp>

namespace det::yaml {

enum class ScalarStatus { done, unknown_type, wrong_type, out_of_range };

struct TaggedScalar {
    ScalarStatus status;
    Node::Scalar value = {};
};

/// Resolves a tagged scalar such as `!!int 5`: the text must be of the tag's type. `type_name` is the last
/// part of the tag.
TaggedScalar resolve_tagged(std::string_view type_name, std::string_view text);

}  // namespace det::yaml
