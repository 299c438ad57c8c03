#pragma once
#include <det/transport/bootstrap.hpp>

#include <memory>

namespace det::transport {

struct RankMonitorOptions {
    /// A rank that sends nothing for this long counts as lost: a stopped process (SIGSTOP) or a broken
    /// network.
    std::chrono::milliseconds silence_limit = std::chrono::seconds(10);
    /// Interval of the heartbeats.
    std::chrono::milliseconds beat = std::chrono::seconds(1);
    /// The address at which other ranks connect to the chief. Used by the chief only.
    std::string chief_address = "127.0.0.1";
    /// The node of this rank, for messages.
    std::string node = {};
};

/// Detects lost ranks of a run. A thread of each rank has a connection to the chief's process. If the
/// connection breaks, the rank is lost at once; if it is silent, after the limit. The chief notifies all
/// other ranks. The rank's own threads need not call anything: they may compute for hours. Thread-safe.
class RankMonitor {
public:
    virtual ~RankMonitor() = default;
    RankMonitor(RankMonitor const&) = delete;
    RankMonitor& operator=(RankMonitor const&) = delete;

    /// Fails if a rank is lost; the Error names the first one and its node. Cheap enough for every wait loop.
    virtual Status check() const = 0;
    /// The same, but waits up to `limit` for the news of a lost rank.
    virtual Status check_within(std::chrono::milliseconds limit) const = 0;
    /// Formats like "rank 3 on n1" for messages.
    virtual std::string name_of(Rank rank) const = 0;
    /// Announces that this rank leaves, so that it does not count as lost.
    virtual void disconnect() noexcept = 0;

protected:
    RankMonitor() = default;
};

/// The Error for a broken connection to a peer. The peer may have left because another rank was lost, so this
/// waits a moment for the news of the monitor. \param monitor may be nullptr.
Error describe_loss(RankMonitor const* monitor, Rank peer);

/// Starts the monitor. Collective; blocks until all ranks have called it.
Result<std::unique_ptr<RankMonitor>> open_rank_monitor(Bootstrap& bootstrap, RankMonitorOptions options = {});

}  // namespace det::transport
