#pragma once
#include <string_view>

namespace det::measure {

/// The help page of a subcommand, for example "collectives"; empty if there is none.
std::string_view find_page(std::string_view name);

}  // namespace det::measure
