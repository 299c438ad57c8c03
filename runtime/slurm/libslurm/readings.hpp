// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include "abi.h"

namespace det::libslurm {

using Request = det_libslurm_request;
using Sink = det_libslurm_sink;

// Each asks slurmctld and hands on what it answers; NULL, or what Slurm said. One after the other, never at
// once.
char const* read_jobs(Request const& request, Sink const& sink);
char const* read_partitions(Sink const& sink);
char const* read_nodes(Sink const& sink);
char const* read_config(Sink const& sink);

}  // namespace det::libslurm
