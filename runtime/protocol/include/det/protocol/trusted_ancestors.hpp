#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/trusted_path.hpp>

// How the site's `trusted_ancestors` reach the programs of a job: as an argument in the batch script, of
// which Slurm keeps a copy, and from there in the environment of the run. A file of the experiment can't hold
// them: they decide whether its directory is trusted.
namespace det {

inline constexpr char trusted_ancestors_option[] = "--trusted-ancestors";

namespace variables {
/// The directories of `trusted_ancestors`, separated by colons.
inline constexpr char trusted_ancestors[] = "DET_TRUSTED_ANCESTORS";
}  // namespace variables

/// Returns the rules of a program in a job. Pure.
TrustRules trust_rules(Environment const& environment);

}  // namespace det
