#pragma once
#include <det/foundation/clock.hpp>

#include <unistd.h>

#include "child.hpp"

namespace det::launch::wrap_rank {

/// Forwards signals to the command, and sends heartbeats, until the command ends.
class ChildMonitor {
public:
    ChildMonitor(RelayedCommand const& command, Child const& child, Clock const& clock)
        : command_(command), child_(child), clock_(clock) {}

    /// Returns the status of waitpid(2).
    Result<int> wait_for_exit();

private:
    using TimePoint = std::chrono::steady_clock::time_point;

    int milliseconds_to_wait() const;
    void beat();
    void take_signals(UniqueFd const& signals);
    /// Inside a run SIGTERM is Slurm's preemption notice, unless the launcher that started this wrapper sends
    /// it.
    bool is_from_launcher(pid_t sender) const;
    void terminate();

    RelayedCommand const& command_;
    Child const& child_;
    Clock const& clock_;
    pid_t const parent_ = ::getppid();
    std::optional<TimePoint> kill_at_, beat_at_;
};

}  // namespace det::launch::wrap_rank
