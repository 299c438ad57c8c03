#pragma once
#include <det/foundation/error.hpp>

#include <string_view>

namespace det::slurm {

/// Whether Slurm says in these words that slurmctld did not answer, rather than that it refused.
bool says_unreachable(std::string_view text);

/// `who` may be a command of Slurm's or a library.
Error unreachable(std::string_view who, std::string_view said);
/// slurm_unreachable or slurm_refused, by what was said.
Error failure(std::string_view who, std::string_view said);

}  // namespace det::slurm
