#pragma once
#include <det/transport/bootstrap.hpp>

#include <memory>

namespace det::transport {

struct RankMonitorOptions {
    /// Who is silent for longer is lost, stopped processes (SIGSTOP) and cut networks included.
    std::chrono::milliseconds silence_limit = std::chrono::seconds(10);
    /// How often a rank shows that it lives.
    std::chrono::milliseconds beat = std::chrono::seconds(1);
    /// At which of its addresses the others reach the chief. For the chief.
    std::string chief_address = "127.0.0.1";
    /// Where this rank is, for messages.
    std::string node = {};
};

/// Whether all ranks of a run live. A thread of each rank speaks with the chief's process: a connection that
/// breaks is a rank that is lost at once, one that is silent is lost at the limit, and the chief tells all
/// others. What the rank itself does meanwhile does not matter: it may compute for hours.
class RankMonitor {
public:
    virtual ~RankMonitor() = default;
    RankMonitor(RankMonitor const&) = delete;
    RankMonitor& operator=(RankMonitor const&) = delete;

    /// An Error that names the first rank that was lost, and its node. Cheap: to be asked in every wait.
    virtual Status check() const = 0;
    /// The same, where it is known now or gets known within `limit`.
    virtual Status check_within(std::chrono::milliseconds limit) const = 0;
    /// "rank 3 on n1", for messages.
    virtual std::string name_of(Rank rank) const = 0;
    /// This rank leaves: the others are not told that it was lost.
    virtual void disconnect() noexcept = 0;

protected:
    RankMonitor() = default;
};

/// What to say of a peer that a connection broke to. It may have left because another rank was lost: that is
/// what the monitor is given a moment to say. `monitor`: may be null.
Error describe_loss(RankMonitor const* monitor, Rank peer);

/// Collective.
Result<std::unique_ptr<RankMonitor>> open_rank_monitor(Bootstrap& bootstrap, RankMonitorOptions options = {});

}  // namespace det::transport
