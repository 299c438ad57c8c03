// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include "abi.h"

namespace det::libslurm {

using Request = det_libslurm_request;
using Sink = det_libslurm_sink;

// Each function queries slurmctld and passes the results to `sink`. Returns NULL, or Slurm's error message. Not
// thread-safe.
char const* read_jobs(Request const& request, Sink const& sink);
char const* read_partitions(Sink const& sink);
char const* read_nodes(Sink const& sink);
char const* read_config(Sink const& sink);

}  // namespace det::libslurm
