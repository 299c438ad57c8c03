// The program's side of the MPI module: opens det_mpi.so and calls the functions of its table.
#include "module_table.hpp"

namespace det::transport::mpi {
namespace {

Result<Table const*> open_table() {
    return open_module_as<Table>({"det_mpi.so", "det_mpi_module", "MPI", "libmpi",
                                  "install the MPI that det-submit was built with on this node, or build "
                                  "det-submit with the MPI of this "
                                  "program; within a run of an experiment DET_TRANSPORT=tcp needs no MPI"});
}

}  // namespace

Result<std::unique_ptr<Transport>> open_transport(Options options) {
    DET_TRY_ASSIGN(auto const* const module, open_table());
    return module->open_transport(options);
}

Result<std::unique_ptr<Collectives>> open_collectives() {
    DET_TRY_ASSIGN(auto const* const module, open_table());
    return module->open_collectives();
}

}  // namespace det::transport::mpi
