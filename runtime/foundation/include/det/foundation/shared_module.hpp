#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace det {

// A module is a shared object of det-submit that is opened at run time, so that no program needs the
// libraries behind it (MPI, UCX, libcurl, libslurm) to start.

/// The paths at which to look for a module, in order: in the folder that DET_MODULES names; beside the file
/// from which this code was loaded (own_object_file()), in lib/ beside that folder and in its parent; in the
/// folder of DET_RUN_DIR that holds det-submit's libraries inside a container; and last the plain name, for
/// which the loader searches. Except for the last, only paths of existing files.
std::vector<std::filesystem::path> module_candidates(Environment const& environment,
                                                     std::string const& file_name);
/// The candidates with the environment of this process.
std::vector<std::filesystem::path> module_candidates(std::string const& file_name);

/// Whether only the module or all libraries of the process see the symbols of the libraries that a module
/// loads. `all` is needed by libraries whose plugins are not linked to them (Open MPI, libslurm).
enum class SymbolScope { module, all };

/// Opens a module and finds the function `entry` in it. The module stays open as long as the process lives.
/// \return the address of the function, or the loader's error message.
Result<void*, std::string> open_module(std::filesystem::path const& file, char const* entry,
                                       SymbolScope scope = SymbolScope::module);

/// The file names of the shared libraries in this process whose name begins with `prefix`, sorted.
std::vector<std::string> loaded_libraries(std::string_view prefix);

}  // namespace det
