#pragma once
#include <det/foundation/files.hpp>
#include <det/foundation/result.hpp>

#include "keeper_options.hpp"

namespace det::loopback {

/// The life of the keeper: the first process of the cluster's PID namespace, so that the kernel ends
/// everything in the cluster when it ends, however it does. It makes the hosts, supervises the daemons and
/// serves the control socket until TERM. `startup` is where 'cluster up' listens.
Status keep_cluster(KeeperOptions const& options, UniqueFd startup);

}  // namespace det::loopback
