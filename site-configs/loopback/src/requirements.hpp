#pragma once
#include <det/foundation/result.hpp>

namespace det::loopback {

Status require_root();
/// Fails if one of the programs that a cluster needs is not installed.
Status require_programs();

}  // namespace det::loopback
