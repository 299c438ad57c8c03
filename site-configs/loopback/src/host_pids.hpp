#pragma once
#include <map>
#include <sys/types.h>

namespace det::loopback {

/// For the processes in the PID namespace of which `keeper` is the first: what the host calls each, by what
/// it is called inside.
std::map<pid_t, pid_t> find_host_pids(pid_t keeper);

}  // namespace det::loopback
