#pragma once
#include <det/foundation/environment.hpp>
#include <det/protocol/layout.hpp>

namespace det::cli {

/// Where everything lies: DET_ROOT, else the site's storage_root, else ~/det. Absolute. It need not be there
/// yet; if it is, it must be a directory of this user's that nobody else can write.
Result<RootLayout> find_root(Environment const& environment);

/// codes::unsafe_owner where the file or directory is another user's, or others can write it. What is not
/// there is fine. `what` begins the message; `advice` is for what is another user's.
Status check_private(std::filesystem::path const& path, std::string const& what, std::string const& advice);

/// Tells roots apart in Slurm's comments.
std::string root_id(RootLayout const& root);

/// What the jobs of an experiment are marked with: "det:<root>/7". The root's part tells roots apart.
std::string job_comment(RootLayout const& root, ExperimentId id);

}  // namespace det::cli
