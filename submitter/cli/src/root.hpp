#pragma once
#include <det/foundation/environment.hpp>
#include <det/protocol/layout.hpp>

namespace det::cli {

/// Where everything lies: DET_ROOT, else ~/det. Absolute. It need not be there yet; if it is, it must be a
/// directory of this user's that nobody else can write.
Result<RootLayout> find_root(Environment const& environment);

/// Tells roots apart in Slurm's comments.
std::string root_id(RootLayout const& root);

}  // namespace det::cli
