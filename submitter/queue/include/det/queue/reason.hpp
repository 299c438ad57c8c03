#pragma once
#include <string>
#include <string_view>

namespace det::queue {

/// Why a job waits, as a sentence; a reason that is not known is returned as Slurm says it. "" for none.
std::string explain_reason(std::string_view reason);

}  // namespace det::queue
