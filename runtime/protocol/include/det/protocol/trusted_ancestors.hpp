#pragma once
#include <filesystem>
#include <string_view>
#include <vector>

// How the site's `trusted_ancestors` reach the programs of a job: as an argument in the batch script, of
// which Slurm keeps a copy, and from there in the environment of the run. A file of the experiment can't hold
// them: they decide whether its directory is trusted.
namespace det {

inline constexpr char trusted_ancestors_option[] = "--trusted-ancestors";

namespace variables {
/// The directories of `trusted_ancestors`, separated by colons.
inline constexpr char trusted_ancestors[] = "DET_TRUSTED_ANCESTORS";
}  // namespace variables

/// Splits the value of the option or the variable. Pure.
std::vector<std::filesystem::path> parse_trusted_ancestors(std::string_view list);

}  // namespace det
