#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace det {

// A module is a shared object of ours that is opened at run time, so that no program needs the libraries
// behind it (MPI, UCX, PMIx, libcurl, libslurm) to start.

/// Where a module may lie, in the order in which to try: the folder that DET_MODULES names, the folders of
/// our programs and libraries, the folder of our libraries inside a container, and last the plain name, which
/// the loader looks for itself. Only files that exist, except for the last.
std::vector<std::filesystem::path> module_candidates(Environment const& environment,
                                                     std::string const& file_name);
/// The same, with the environment of this process.
std::vector<std::filesystem::path> module_candidates(std::string const& file_name);

/// Who sees the symbols of the libraries that a module brings along. `all`: libraries whose own plugins are
/// not linked to them (Open MPI, PMIx, libslurm) work only then.
enum class SymbolScope { module, all };

/// Opens a module and finds the function `entry` in it. The module stays open as long as the process lives.
/// \return the address of the function, or what the loader says.
Result<void*, std::string> open_module(std::filesystem::path const& file, char const* entry,
                                       SymbolScope scope = SymbolScope::module);

/// The file names of the shared libraries in this process whose name begins with `prefix`, sorted.
std::vector<std::string> loaded_libraries(std::string_view prefix);

}  // namespace det
