#pragma once
#include <det/foundation/environment.hpp>
#include <det/launchers/launchers.hpp>

#include <functional>

namespace det {

struct OwnPrograms {
    std::filesystem::path det_launch, wrap_rank, remote_shell;
};

/// What a launcher has to know, read from DET_RUN_DIR. Asks Python for its torch where that matters.
Result<launchers::Ground> read_ground(Environment environment, OwnPrograms const& programs, bool asks_torch);

/// Writes the plan's files, checks its port, starts its processes and holds the launcher contract. Returns
/// the exit code.
Result<int> carry_out(launchers::LaunchPlan const& plan, launchers::Ground const& ground,
                      OwnPrograms const& programs, std::function<void(std::string const&)> const& say);

}  // namespace det
