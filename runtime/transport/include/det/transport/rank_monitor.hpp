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
    /// The numeric IPv4 or IPv6 address at which the ranks connect to the chief. Used by the chief only.
    std::string chief_address = "127.0.0.1";
    /// The node of this rank, for messages.
    std::string node = {};
    /// The numeric address of this rank's node, from which its connection comes. Empty if it is unknown.
    std::string address = {};
};

/// Detects the first rank of a run that is lost. A thread of each rank has a connection to the chief's
/// process. A rank is lost when its connection breaks, or when it has sent nothing for the silence limit. The
/// chief notifies all other ranks. The threads of the program need not call the monitor: they may compute for
/// hours. The destructor announces that this rank leaves, so that it does not count as lost. The exception is
/// the chief: when its monitor is destroyed, it counts as lost on ranks whose monitors still exist.
/// Thread-safe.
class RankMonitor {
public:
    virtual ~RankMonitor() = default;
    RankMonitor(RankMonitor const&) = delete;
    RankMonitor& operator=(RankMonitor const&) = delete;

    /// Does not wait for other ranks: while no rank is lost it reads one atomic variable.
    /// \return codes::transport if a rank is lost; the message names the first lost rank, its node if that is
    ///     known, and the reason.
    virtual Status check() const = 0;
    /// Like check(), but blocks up to `limit` until a rank is reported as lost.
    virtual Status wait_for_loss(std::chrono::milliseconds limit) const = 0;
    /// \return the rank, and its node if that is known, for messages: for example "rank 3 on n1".
    virtual std::string name_of(Rank rank) const = 0;
    /// Calls liveness::report_lost_peer(). Virtual, because modules that are loaded at run time have their
    /// own copy of that function, without the program's handler.
    virtual void report_loss(std::string const& message) const;
    /// To be called by a rank that fails alone: the destructor then does not announce that this rank leaves,
    /// so that it counts as lost on the other ranks. Does not block.
    virtual void abandon() noexcept = 0;

protected:
    RankMonitor() = default;
};

/// Makes the Error for a broken connection to a peer. The peer may have left because another rank was lost,
/// so the function waits up to half a second for the monitor to report that rank. If the monitor reports no
/// rank, the function reports the loss of `peer` by RankMonitor::report_loss().
/// \param monitor may be nullptr: the function then returns at once.
Error diagnose_lost_peer(RankMonitor const* monitor, Rank peer);

/// Starts the monitor. Collective; blocks until all ranks have called it.
/// \return codes::transport, codes::timed_out or a socket error if this rank can't connect to the chief's
///     monitor; codes::bad_value on the chief for a chief_address that is not numeric; the errors of the
///     bootstrap.
Result<std::unique_ptr<RankMonitor>> open_rank_monitor(Bootstrap& bootstrap, RankMonitorOptions options = {});

}  // namespace det::transport
