#pragma once
#include <string_view>

namespace det::launch::launchers {

/// The page of a launcher ("torch_distributed"); empty where there is none.
std::string_view find_page(std::string_view name);

}  // namespace det::launch::launchers
