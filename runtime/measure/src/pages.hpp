#pragma once
#include <string_view>

namespace det::measure {

/// The page of a subcommand ("collectives"); empty where there is none.
std::string_view find_page(std::string_view name);

}  // namespace det::measure
