#pragma once
#include <det/yaml/node.hpp>

namespace det::yaml {

enum class ScalarStatus { done, wrong_type, out_of_range };

struct TaggedScalar {
    ScalarStatus status;
    Node::Scalar value = {};
};

/// What `!!int 5` and its like mean: the text must be of the tag's type. `type` is the tag's last part.
TaggedScalar resolve_tagged(std::string_view type, std::string_view text);

}  // namespace det::yaml
