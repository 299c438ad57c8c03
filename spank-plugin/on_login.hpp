// SPDX-License-Identifier: GPL-2.0-or-later
// It includes Slurm's headers, which are GPL-2.0-or-later.
#pragma once
#include "spank_host.hpp"
#include "wishes.hpp"

namespace det::spank {

/// In srun, once job and step have their numbers: what is wrong with the options together is said before
/// anything starts, and MASTER_PORT is chosen for all tasks. Where srun runs on the step's first node, as it
/// does in batch scripts, the port was bound to see that it is free; elsewhere it is only unlikely to be
/// taken.
Status on_local_user_init(Host const& host, Settings const& settings);

}  // namespace det::spank
