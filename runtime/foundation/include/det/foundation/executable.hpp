#pragma once
#include <det/foundation/result.hpp>

#include <filesystem>
#include <string_view>
#include <vector>

namespace det {

/// Where this program lies, links resolved.
std::filesystem::path own_executable();
/// The file that this code was loaded from: the program, or a library of ours in the program of others.
std::filesystem::path own_object();
/// A program of ours, beside this one.
std::filesystem::path sibling_program(std::string_view name);
/// The libraries that it runs with, but for the C library.
std::vector<std::filesystem::path> own_libraries();
/// What is shipped with the programs (templates ...): <prefix>/share/det for <prefix>/bin.
std::filesystem::path shared_data();

}  // namespace det
