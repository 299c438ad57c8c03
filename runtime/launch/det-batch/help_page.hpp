#pragma once
#include <string_view>

namespace det::launch::batch {

/// The help page for the name "det-batch".
std::string_view find_page(std::string_view name);

}  // namespace det::launch::batch
