#pragma once
#include <det/foundation/result.hpp>

#include <filesystem>
#include <string_view>
#include <vector>

namespace det {

/// The path of the running program, with symbolic links resolved.
std::filesystem::path own_executable();
/// The file from which this code was loaded: the program itself, or a shared library of det-submit in another
/// program.
std::filesystem::path own_object_file();
/// The path of another program of det-submit, in the directory of this program.
std::filesystem::path sibling_program(std::string_view name);
/// The shared libraries that this program has loaded, except libc, libm and the dynamic loader.
std::vector<std::filesystem::path> loaded_library_paths();
/// The directory of installed data files such as templates: <prefix>/share/det for programs in <prefix>/bin.
std::filesystem::path data_directory();

}  // namespace det
