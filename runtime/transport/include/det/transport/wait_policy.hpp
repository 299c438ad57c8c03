#pragma once
#include <det/transport/rank_monitor.hpp>

#include <functional>
#include <optional>

namespace det::transport {

/// Limits how long a rank waits for another rank. By default a wait has no time limit and ends only when a
/// rank is lost, because a chief may validate for minutes.
struct WaitPolicy {
    /// Called once per wait after `long_wait`. May be empty.
    std::function<void(std::string const& warning)> on_long_wait = {};
    std::chrono::milliseconds long_wait = std::chrono::seconds(60);
    /// A longer wait fails with codes::timed_out. nullopt: no limit.
    std::optional<std::chrono::milliseconds> timeout = {};
};

/// One wait for a peer under a WaitPolicy. The waiting rank calls check() after each unsuccessful poll;
/// check() reads the clock only in every 64th call.
class PeerWait {
public:
    PeerWait(WaitPolicy const& policy, RankMonitor const* monitor, Rank self, Rank peer)
        : policy_(policy), monitor_(monitor), self_(self), peer_(peer) {}

    /// Fails with codes::transport if a rank is lost, with codes::timed_out if the time limit has passed.
    Status check();

private:
    std::string describe(std::chrono::seconds waited) const;

    static constexpr int checks_per_look = 64;

    WaitPolicy const& policy_;
    RankMonitor const* monitor_;
    Rank self_;
    Rank peer_;
    int checks_ = 0;
    std::optional<std::chrono::steady_clock::time_point> begin_;
    bool has_warned_ = false;
};

}  // namespace det::transport
