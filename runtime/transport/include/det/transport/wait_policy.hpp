#pragma once
#include <det/transport/rank_monitor.hpp>

#include <functional>
#include <optional>

namespace det::transport {

/// How long a rank waits for another. By default as long as it lives: a chief may validate for minutes.
struct WaitPolicy {
    /// Told once in a wait that has taken this long. Null: nobody is told.
    std::function<void(std::string const& warning)> on_long_wait = {};
    std::chrono::milliseconds long_wait = std::chrono::seconds(60);
    /// A wait that takes longer is an Error. Absent: none is.
    std::optional<std::chrono::milliseconds> timeout = {};
};

/// One wait for a peer, under the policy: asked again and again, it looks at the clock now and then.
class PeerWait {
public:
    PeerWait(WaitPolicy const& policy, RankMonitor const* monitor, Rank self, Rank peer)
        : policy_(policy), monitor_(monitor), self_(self), peer_(peer) {}

    /// An Error where a rank was lost or the time is over.
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
