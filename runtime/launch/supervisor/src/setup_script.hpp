#pragma once
#include <string_view>

namespace det::launch::supervisor::scripts {

/// The text of setup.bash for the name "setup".
std::string_view find_page(std::string_view name);

}  // namespace det::launch::supervisor::scripts
