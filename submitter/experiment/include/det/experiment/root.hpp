#pragma once
#include <det/foundation/environment.hpp>
#include <det/protocol/layout.hpp>

namespace det::experiment {

/// The directory that holds all experiments: DET_ROOT, else the site's storage_root, else ~/det. An absolute
/// path. It need not exist yet; if it does, it must be a directory of this user that no other user can write.
Result<RootLayout> find_root(Environment const& environment);

/// codes::unsafe_owner if the file or directory belongs to another user or others can write it. Succeeds if
/// it does not exist. `what` begins the message; `advice` is the hint if it belongs to another user.
Status require_private(std::filesystem::path const& path, std::string const& what, std::string const& advice);

/// The part of Slurm comments that names this root.
std::string root_id(RootLayout const& root);

/// The Slurm comment of the jobs of an experiment: "det:<root>/7".
std::string job_comment(RootLayout const& root, ExperimentId id);

}  // namespace det::experiment
