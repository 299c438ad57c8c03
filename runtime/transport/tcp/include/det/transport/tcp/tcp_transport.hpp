#pragma once
#include <det/transport/transport.hpp>
#include <det/transport/wait_policy.hpp>

namespace det::transport::tcp {

struct Options {
    /// At which of its addresses this rank is reached; it listens there alone.
    std::string address = "127.0.0.1";
    /// How many ranks are on this node: they may have to share its cores while they wait.
    int local_ranks = 1;
    /// How much of what a peer sends is kept before it is asked for. Beyond it the peer's messages stay with
    /// the peer and the network, as long as nothing of this peer is waited for.
    std::size_t unexpected_limit_bytes = std::size_t{64} << 20;
    /// Tells of ranks that are lost and that this rank does not talk to.
    std::unique_ptr<RankMonitor> monitor = {};
    WaitPolicy waits = {};
};

/// The ranks of the bootstrap over plain sockets: needs nothing but a network. All ranks open it together,
/// and close it together unless one abandons. A connection is made when something is first sent, and proves
/// that both ends belong to the run.
Result<std::unique_ptr<Transport>> open_transport(std::unique_ptr<Bootstrap> bootstrap, Options options = {});

}  // namespace det::transport::tcp
