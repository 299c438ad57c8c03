#pragma once
#include <det/foundation/error_codes.hpp>

namespace det::loopback::codes {

using namespace det::codes;

inline constexpr ErrorCode no_such_cluster{"no-such-cluster", ExitCode::absent};
inline constexpr ErrorCode already_up{"already-up", ExitCode::could_not};
/// The root file system of a Debian release can't be made on this machine.
inline constexpr ErrorCode no_slurm_release{"no-slurm-release", ExitCode::could_not};
inline constexpr ErrorCode missing_program{"missing-program", ExitCode::could_not};
inline constexpr ErrorCode no_cgroup_v2{"no-cgroup-v2", ExitCode::could_not};

}  // namespace det::loopback::codes
