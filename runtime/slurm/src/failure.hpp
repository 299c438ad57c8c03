#pragma once
#include <det/foundation/error.hpp>

#include <string_view>

namespace det::slurm {

/// Whether Slurm's message means that slurmctld did not answer, rather than that it refused.
bool says_unreachable(std::string_view text);

/// The error slurm_unreachable. `source` is a command of Slurm or a library.
Error unreachable(std::string_view source, std::string_view said);
/// The error slurm_unreachable or slurm_refused, depending on the message.
Error failure(std::string_view source, std::string_view said);

}  // namespace det::slurm
