#pragma once
#include <det/foundation/result.hpp>

namespace det::transport {

// mpi, ucx and pmix are modules: det_mpi.so, det_ucx.so and det_pmix.so are opened when they are first used.
// A module contains a copy of det::transport and det::foundation, and C++ objects pass between the two. So
// both must be built from the same headers by the same compiler: transport_abi, of which each side has its
// own, tells.

/// A checksum of the headers that both sides see, with compiler and build type.
extern char const transport_abi[];

/// The table that the entry function of a module returns. The table of each module derives from it.
struct ModuleTable {
    char const* abi;
};

struct ModuleSource {
    char const* file;            // "det_mpi.so"
    char const* entry;           // the C function that returns the table
    char const* what;            // for messages: "MPI"
    char const* library_prefix;  // of the file names of its library: "libmpi"
    char const* hint;            // what to do where it can't be opened
};

/// Opens a module, from where module_candidates says, and checks that it was built with this code. A library
/// that the process has loaded already is the one that the module uses; if it needs another one, that is an
/// Error. \return codes::not_supported where no candidate can be used, with a note for each of them.
Result<ModuleTable const*> open_module(ModuleSource const& source);

/// The same, as the module's own type of table.
template <class Table>
Result<Table const*> open_module_as(ModuleSource const& source) {
    DET_TRY_ASSIGN(auto const* const table, open_module(source));
    return static_cast<Table const*>(table);
}

}  // namespace det::transport
