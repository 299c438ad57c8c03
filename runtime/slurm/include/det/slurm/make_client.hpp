#pragma once
#include <det/slurm/client.hpp>

#include <memory>

namespace det {
class ProcessRunner;
}

namespace det::slurm {

/// The client selected by DET_SLURM_BACKEND: "commands"; "libslurm" (queries fail with slurm_backend if it
/// is unusable here); otherwise libslurm if it works, and commands if not.
Result<std::unique_ptr<SlurmClient>> make_client(ProcessRunner& runner, Environment const& environment,
                                                 Clock& clock);

}  // namespace det::slurm
