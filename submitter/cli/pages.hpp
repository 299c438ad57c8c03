#pragma once
#include <string_view>

namespace det::cli {

/// The page of a command ("experiment_create"); empty where there is none.
std::string_view find_page(std::string_view name);

}  // namespace det::cli
