#pragma once
#include <det/transport/bootstrap.hpp>

#include <memory>

namespace det::transport::pmix {

/// Opens a bootstrap over the PMIx server of the launcher (`srun --mpi=pmix` or mpirun), which gives rank and
/// size. Opens det_pmix.so first. Not collective. A process may have at most one at a time.
/// \return codes::not_supported if det_pmix.so or PMIx can't be loaded; codes::timed_out if its server
///   does not answer; codes::transport if PMIx fails, for example because no launcher with PMIx started this
///   process.
Result<std::unique_ptr<Bootstrap>> open_bootstrap(BootstrapOptions options = {});

}  // namespace det::transport::pmix
