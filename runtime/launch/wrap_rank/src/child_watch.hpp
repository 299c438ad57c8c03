#pragma once
#include <det/foundation/clock.hpp>

#include <unistd.h>

#include "child.hpp"

namespace det::launch::wrap_rank {

/// What is done about signals until the command ends.
class ChildWatch {
public:
    ChildWatch(RelayedCommand const& command, Child const& child, Clock const& clock)
        : command_(command), child_(child), clock_(clock) {}

    /// Returns what waitpid says.
    Result<int> until_the_end();

private:
    using TimePoint = std::chrono::steady_clock::time_point;

    int milliseconds_to_wait() const;
    void beat();
    void take_signals(UniqueFd const& signals);
    /// Inside a run TERM is Slurm's notice, except where the launcher that started us sends it.
    bool is_order(pid_t sender) const;
    void order_to_end();

    RelayedCommand const& command_;
    Child const& child_;
    Clock const& clock_;
    pid_t const parent_ = ::getppid();
    std::optional<TimePoint> kill_at_, beat_at_;
};

}  // namespace det::launch::wrap_rank
