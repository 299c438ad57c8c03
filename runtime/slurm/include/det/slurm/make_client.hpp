#pragma once
#include <det/slurm/client.hpp>

#include <memory>

namespace det {
class ProcessRunner;
}

namespace det::slurm {

/// The client that DET_SLURM_BACKEND asks for: "commands", "libslurm" (readings are slurm_backend errors
/// where it is of no use here), else libslurm where that works and commands where not.
Result<std::unique_ptr<SlurmClient>> make_client(ProcessRunner& runner, Environment const& environment,
                                                 Clock& clock);

}  // namespace det::slurm
