#pragma once
#include <det/slurm/client.hpp>

#include <memory>

namespace det {
class ProcessRunner;
}

namespace det::slurm {

/// The client selected by DET_SLURM_BACKEND: "commands"; "libslurm" (queries fail with slurm_backend if it
/// is unusable here); unset or empty: libslurm if it works, and commands if not. codes::usage for another
/// value, for a wrong time limit (parse_call_timeouts()), and if SLURM_CLUSTERS is set.
/// \param runner,clock must outlive the client
Result<std::unique_ptr<SlurmClient>> make_client(ProcessRunner& runner, Environment const& environment,
                                                 Clock& clock);

}  // namespace det::slurm
