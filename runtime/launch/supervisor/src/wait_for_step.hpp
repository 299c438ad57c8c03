#pragma once
#include <det/foundation/clock.hpp>
#include <det/slurm/step_process.hpp>

#include <chrono>

namespace det::launch::supervisor {

/// Whether Slurm's notice, a blocked SIGTERM, is pending.
bool has_pending_notice();

/// Waits for a step that starts before the run's own one.
/// \return whether the step has ended; false at `until`, or when Slurm's notice, a blocked SIGTERM, is
///     pending
bool wait_for_step(slurm::StepProcess& step, std::chrono::steady_clock::time_point until, Clock const& clock);

}  // namespace det::launch::supervisor
