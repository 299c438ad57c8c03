#pragma once
#include <det/transport/peer_wait.hpp>
#include <det/transport/transport.hpp>

namespace det::transport::tcp {

struct Options {
    /// The numeric IPv4 or IPv6 address on which this rank listens.
    std::string address = "127.0.0.1";
    /// Number of ranks on this node. If the node has fewer cores, waiting ranks yield instead of spinning.
    int local_ranks = 1;
    /// Limit in bytes per peer for messages that arrive before their receive is posted. Beyond it this rank
    /// stops reading from the peer until it posts a receive for a message from that peer.
    std::size_t unexpected_limit_bytes = std::size_t{64} << 20;
    /// Reports lost ranks, also those to which this rank has no connection. May be null.
    std::unique_ptr<RankMonitor> monitor = {};
    WaitPolicy waits = {};
};

/// Opens a transport over TCP sockets between the ranks of the bootstrap. A connection is made at the first
/// send; both ends prove that they belong to the run.
///
/// Collective over all ranks; blocks until all have called it. The destructor is collective too, unless the
/// rank has called abandon() or a rank is lost.
/// \return codes::bad_value for an address that is not numeric; the errors of the bootstrap; an error of the
///     socket
Result<std::unique_ptr<Transport>> open_transport(std::unique_ptr<Bootstrap> bootstrap, Options options = {});

}  // namespace det::transport::tcp
