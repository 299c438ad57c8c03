#pragma once
#include <chrono>

namespace det {

/// How long before the end of Slurm's grace period the supervisor ends a run, to requeue the job before Slurm
/// does: a tenth of the period, at least 3 s and at most 15 s, but no more than half of it.
std::chrono::milliseconds grace_margin(std::chrono::milliseconds grace);

}  // namespace det
