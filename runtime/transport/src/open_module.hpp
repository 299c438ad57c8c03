#pragma once
#include <det/foundation/result.hpp>

namespace det::transport {

// mpi and ucx are modules: det_mpi.so and det_ucx.so are opened when they are first used.
// A module contains its own copy of det::transport and of the libraries below it, and C++ objects pass
// between the program and the module. So both must be built from the same headers by the same compiler. Each
// side has its own transport_abi, and a module with a different one is refused.

/// The version, the compiler, the build type, the sanitizers, and a checksum of det-submit's headers whose
/// types pass between both sides.
extern char const transport_abi[];

/// The table that the entry function of a module returns. The table of each module derives from it.
struct ModuleTable {
    char const* abi;
};

struct ModuleSource {
    char const* file;            // "det_mpi.so"
    char const* entry;           // the C function that returns the table
    char const* what;            // for messages: "MPI"
    char const* library_prefix;  // the beginning of the file names of its library: "libmpi"
    char const* hint;            // what the user can do if the module can't be opened
};

/// Opens a module from the first usable path of module_candidates, and checks that it was built with this
/// code. If the process has loaded a library with `library_prefix` already, the module must use that one.
/// \return codes::not_supported if no candidate can be used, with a note for each candidate.
Result<ModuleTable const*> open_module(ModuleSource const& source);

/// Like open_module, but returns the module's own table type.
template <class Table>
Result<Table const*> open_module_as(ModuleSource const& source) {
    DET_TRY_ASSIGN(auto const* const table, open_module(source));
    return static_cast<Table const*>(table);
}

}  // namespace det::transport
