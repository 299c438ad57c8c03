#pragma once
#include <det/liveness/wait_policy.hpp>
#include <det/transport/rank_monitor.hpp>

namespace det::transport {

using liveness::WaitPolicy;

/// One wait for a peer under a WaitPolicy. The waiting rank calls check() after each unsuccessful poll;
/// check() reads the clock only in every 64th call.
class PeerWait {
public:
    PeerWait(WaitPolicy const& policy, RankMonitor const* monitor, Rank self, Rank peer)
        : policy_(policy), monitor_(monitor), self_(self), peer_(peer) {}

    /// Fails with codes::transport if a rank is lost, with codes::timed_out if the time limit has passed.
    Status check();

private:
    std::string describe() const;

    static constexpr int checks_per_look = 64;

    WaitPolicy const& policy_;
    RankMonitor const* monitor_;
    Rank self_;
    Rank peer_;
    int checks_ = 0;
    std::optional<liveness::WaitTimer> timer_;
};

}  // namespace det::transport
