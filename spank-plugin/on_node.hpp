// SPDX-License-Identifier: GPL-2.0-or-later
// It includes Slurm's headers, which are GPL-2.0-or-later.
#pragma once
#include "plugin_options.hpp"
#include "spank_host.hpp"

namespace det::spank {

/// Runs in the child process that becomes a task, as its user: sets the task's variables and prepends the
/// wrapper to its command. Does nothing in jobs that do not ask for the plugin, and in steps that srun did
/// not start.
Status on_task_init(Host const& host, Settings const& settings);

}  // namespace det::spank
