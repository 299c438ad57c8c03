#pragma once
#include <det/foundation/files.hpp>
#include <det/foundation/result.hpp>

#include "cluster_options.hpp"

namespace det::loopback {

/// The main function of the init process, the first process of the cluster's PID namespace: when it ends, for
/// any reason, the kernel kills all other processes of the cluster. It makes the hosts, supervises the
/// daemons and serves the control socket until SIGTERM. `startup` is the pipe to 'cluster up'
/// (init_start.hpp).
Status run_init_process(InitOptions const& options, UniqueFd startup);

}  // namespace det::loopback
