#pragma once
#include <det/transport/mpi/mpi_collectives.hpp>
#include <det/transport/mpi/mpi_transport.hpp>

#include "open_module.hpp"

namespace det::transport::mpi {

/// The functions of det_mpi.so. Its entry point det_mpi_module() returns this table.
struct Table : ModuleTable {
    Result<std::unique_ptr<Transport>> (*open_transport)(Options);
    Result<std::unique_ptr<Collectives>> (*open_collectives)();
};

}  // namespace det::transport::mpi
