// SPDX-License-Identifier: GPL-2.0-or-later
// It includes Slurm's headers, which are GPL-2.0-or-later.
#pragma once
#include "spank_host.hpp"
#include "wishes.hpp"

namespace det::spank {

/// In the child that becomes a task, as its user: gives it its place among its peers and puts the wrapper in
/// front of it. Does nothing in jobs that don't ask for us, and in steps that are no tasks of srun.
Status on_task_init(Host const& host, Settings const& settings);

}  // namespace det::spank
