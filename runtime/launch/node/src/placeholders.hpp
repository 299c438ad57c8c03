#pragma once
#include <string>
#include <string_view>

namespace det::launch::node {

/// Replaces each occurrence of a placeholder of a ContainerTemplate, for example "{image}". Pure.
std::string replaced(std::string text, std::string_view place, std::string_view value);

}  // namespace det::launch::node
