#pragma once
#include <det/transport/bootstrap.hpp>

#include <memory>

namespace det::transport {

/// Through the PMIx server that started this process: srun --mpi=pmix, or mpirun. Rank and size are those that
/// it gave. At most one at a time in a process.
Result<std::unique_ptr<Bootstrap>> open_pmix_bootstrap(BootstrapOptions options = {});

}  // namespace det::transport
