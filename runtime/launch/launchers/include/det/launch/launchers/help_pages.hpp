#pragma once
#include <string_view>

namespace det::launch::launchers {

/// The help page of a program or of a launcher ("torch_distributed"); empty if there is none. Each program
/// embeds its own pages.
std::string_view find_page(std::string_view name);

}  // namespace det::launch::launchers
