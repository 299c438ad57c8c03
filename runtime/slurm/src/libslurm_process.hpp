#pragma once
#include <det/foundation/environment.hpp>
#include <det/slurm/libslurm_client.hpp>

#include <filesystem>

#include "libslurm_answer.hpp"

namespace det::slurm {

/// A call of the libslurm module, which may be unusable on this machine.
struct LibslurmCall {
    std::filesystem::path module;
    Environment environment;
    std::chrono::milliseconds timeout;
};

/// Queries Slurm in a child process, because libslurm blocks for minutes, prints to stderr, and exits if it
/// rejects its configuration. The error slurm_backend means that the module is unusable here; other errors
/// are those of Slurm.
Result<LibslurmAnswer> ask_libslurm(LibslurmCall const& call, det_libslurm_reading reading,
                                    QueueFilter const& filter = {});

}  // namespace det::slurm
