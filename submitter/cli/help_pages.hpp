#pragma once
#include <string_view>

namespace det::cli {

/// Returns the page of a command by its page name ("experiment/create"), or the script that makes a shell
/// complete det-submit ("completion/det-submit.bash", .fish, .zsh); empty if there is none.
std::string_view find_page(std::string_view name);

}  // namespace det::cli
