#pragma once
#include <det/protocol/document.hpp>

#include <string>

namespace det::cli {

/// Renders JSON as YAML in block style. Bytes that are not UTF-8 become U+FFFD, as in JSON.
std::string to_yaml(Json const& json);

}  // namespace det::cli
