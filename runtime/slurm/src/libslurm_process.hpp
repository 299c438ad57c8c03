#pragma once
#include <det/foundation/environment.hpp>
#include <det/slurm/libslurm_client.hpp>

#include <filesystem>

#include "libslurm_answer.hpp"

namespace det::slurm {

/// A reading by a module, which may be of no use here.
struct LibslurmCall {
    std::filesystem::path module;
    Environment environment;
    std::chrono::milliseconds timeout;
};

/// Asks in a child process, for libslurm blocks for minutes, prints to stderr, and ends the process where it
/// does not like its configuration. slurm_backend: the module is of no use here; others are Slurm's.
Result<LibslurmAnswer> ask_libslurm(LibslurmCall const& call, det_libslurm_reading reading,
                                    QueueFilter const& filter = {});

}  // namespace det::slurm
