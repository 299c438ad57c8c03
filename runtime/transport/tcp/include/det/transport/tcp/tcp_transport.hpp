#pragma once
#include <det/transport/transport.hpp>
#include <det/transport/wait_policy.hpp>

namespace det::transport::tcp {

struct Options {
    /// The address on which this rank listens.
    std::string address = "127.0.0.1";
    /// The number of ranks on this node, which may share its cores while they wait.
    int local_ranks = 1;
    /// Limit per peer for messages that arrive before their receive is posted. Beyond it this rank stops
    /// reading from the peer until it waits for a message of it.
    std::size_t unexpected_limit_bytes = std::size_t{64} << 20;
    /// Reports lost ranks to which this rank has no connection.
    std::unique_ptr<RankMonitor> monitor = {};
    WaitPolicy waits = {};
};

/// Opens a transport over TCP sockets between the ranks of the bootstrap. Opening and closing are collective,
/// unless a rank abandons. A connection is made at the first send; both ends prove that they belong to the
/// run.
Result<std::unique_ptr<Transport>> open_transport(std::unique_ptr<Bootstrap> bootstrap, Options options = {});

}  // namespace det::transport::tcp
