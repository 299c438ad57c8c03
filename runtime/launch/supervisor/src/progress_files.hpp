#pragma once
#include <det/foundation/clock.hpp>
#include <det/protocol/directory_layout.hpp>

#include <optional>
#include <string>
#include <vector>

namespace det::launch::supervisor {

/// The time of the newest change of the files that match one of the patterns of slurm.progress_glob, by the
/// clock of their file system; nullopt if none matches. Relative patterns begin in the trial's shared working
/// directory, in the directory that holds its persistent directories (there they begin with the name of one),
/// in DET_TRIAL_DIR and in the directory of the trial itself.
std::optional<UtcTime> newest_change(std::vector<std::string> const& patterns, TrialLayout const& trial);

/// Whether `change` is later than `before`. Any time is later than nullopt.
bool is_newer(std::optional<UtcTime> const& change, std::optional<UtcTime> const& before);

}  // namespace det::launch::supervisor
