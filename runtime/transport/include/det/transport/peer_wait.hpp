#pragma once
#include <det/liveness/wait_policy.hpp>
#include <det/liveness/wait_recorder.hpp>
#include <det/transport/rank_monitor.hpp>

namespace det::transport {

using liveness::WaitPolicy;

/// One wait for a peer under a WaitPolicy. The waiting rank calls check() after each unsuccessful poll.
/// check() reads the clock in the first call and in every 64th call after it. Once 64 calls have taken longer
/// than a millisecond, for example because the rank sleeps between its polls, check() reads the clock in each
/// call. Waits of more than 64 polls are recorded by the recorder of the policy.
class PeerWait {
public:
    PeerWait(WaitPolicy const& policy, RankMonitor const* monitor, Rank self, Rank peer)
        : policy_(policy), monitor_(monitor), self_(self), peer_(peer), recorded_(policy.recorder.get()) {}

    /// Fails with codes::transport if the monitor has reported a lost rank, with codes::timed_out if the time
    /// limit has passed.
    Status check();

private:
    std::string describe() const;

    static constexpr int checks_per_look = 64;
    static constexpr std::chrono::milliseconds slow_polls{1};

    WaitPolicy const& policy_;
    RankMonitor const* monitor_;
    Rank self_;
    Rank peer_;
    int checks_until_look_ = 0;
    bool is_slow_ = false;
    std::optional<liveness::WaitTimer> timer_;
    liveness::WaitTimer::Clock::time_point began_, looked_at_;
    liveness::RecordedWait recorded_;
};

}  // namespace det::transport
