#pragma once
#include <det/foundation/clock.hpp>
#include <det/slurm/step_process.hpp>

#include <chrono>
#include <functional>
#include <optional>

namespace det::launch::supervisor {

/// Whether Slurm's notice, a blocked SIGTERM, is pending.
bool has_pending_notice();

/// When the desired state of a trial is read while a step is awaited: at once; then when det-submit's signal
/// is pending, but once a second at most, because the signal stays pending; otherwise every 30 s, because a
/// signal may be lost. Pure.
class DesiredStateTimes {
public:
    using Time = std::chrono::steady_clock::time_point;

    /// \param is_woken whether det-submit's signal is pending
    /// \return whether it is time; the next time is counted from then
    bool take(bool is_woken, Time now);

private:
    std::optional<Time> last_;
};

/// Waits for a step that starts before the run's own one.
/// \param is_stopped whether the user stops the run; called at DesiredStateTimes. May read files. Empty: the
///     user is not heeded
/// \return whether the step has ended; false at `until`, when Slurm's notice, a blocked SIGTERM, is pending,
///     or when `is_stopped` is true
bool wait_for_step(slurm::StepProcess& step, std::chrono::steady_clock::time_point until, Clock const& clock,
                   std::function<bool()> const& is_stopped = {});

}  // namespace det::launch::supervisor
