#pragma once
#include <string_view>

namespace det::cli {

/// Returns the page of a command by its page name ("experiment_create"); empty if the command has none.
std::string_view find_page(std::string_view name);

}  // namespace det::cli
