// SPDX-License-Identifier: GPL-2.0-or-later
// This file includes Slurm's headers, which are GPL-2.0-or-later.
#pragma once
#include "spank_handle.hpp"

namespace det::spank {

/// Runs in srun when the numbers of job and step are known: reports invalid combinations of options before
/// anything starts. If an option requests the plugin, removes the variables that the step inherits from a run
/// of another job. Chooses the streams that get labels, for steps of scripts and for those that a task of a
/// run starts (DET_LABELS). Chooses MASTER_PORT for all tasks, if the plugin is requested, srun starts the
/// ranks, the step is not part of a run and the variable is not set. srun starts the ranks unless
/// --det-launch, or without it DET_LAUNCH, is node. The port is free on the host of srun if one of 64 is. In
/// batch scripts this usually is the step's first node; elsewhere the port is only unlikely to be in use
/// there.
Status on_local_user_init(SpankHandle const& host, Settings const& settings);

/// Runs in the child process that becomes a task, as its user: sets the task's variables and prepends the
/// wrapper to its command. In a batch script of a job with the option, sets DET_JOB_OUTPUT, and with
/// --det-requeue prepends `det-launch script`. Does nothing in jobs that do not ask for the plugin, or whose
/// DET_SPANK was inherited from a run in another job, in steps that srun did not start, and in partitions
/// where the plugin is not active (an error if an option asks for it there).
Status on_task_init(SpankHandle const& host, Settings const& settings);

}  // namespace det::spank
