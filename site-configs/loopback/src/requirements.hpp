#pragma once
#include <det/foundation/result.hpp>

namespace det::loopback {

Status require_root();
/// Slurm's daemons and the few other programs that we start.
Status require_programs();

}  // namespace det::loopback
