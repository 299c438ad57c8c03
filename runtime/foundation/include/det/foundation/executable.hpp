#pragma once
#include <det/foundation/result.hpp>

#include <filesystem>
#include <string_view>

namespace det {

/// Where this program lies, links resolved.
std::filesystem::path own_executable();
/// A program of ours, beside this one.
std::filesystem::path sibling_program(std::string_view name);
/// What is shipped with the programs (templates ...): <prefix>/share/det for <prefix>/bin.
std::filesystem::path shared_data();

}  // namespace det
