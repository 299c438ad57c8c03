// SPDX-License-Identifier: GPL-2.0-or-later
// This file includes Slurm's headers, which are GPL-2.0-or-later.
#pragma once
#include "spank_host.hpp"

namespace det::spank {

/// Runs in srun when the numbers of job and step are known: reports invalid combinations of options before
/// anything starts. Chooses MASTER_PORT for all tasks, if the plugin is requested, srun starts the ranks, the
/// step is not part of a run and the variable is not set. If srun runs on the step's first node, as in batch
/// scripts, it binds the port to check that it is free; elsewhere the port is only unlikely to be in use.
Status on_local_user_init(Host const& host, Settings const& settings);

/// Runs in the child process that becomes a task, as its user: sets the task's variables and prepends the
/// wrapper to its command. Does nothing in jobs that do not ask for the plugin, in steps that srun did not
/// start, and in partitions where the plugin is not active (an error if an option asks for it there).
Status on_task_init(Host const& host, Settings const& settings);

}  // namespace det::spank
