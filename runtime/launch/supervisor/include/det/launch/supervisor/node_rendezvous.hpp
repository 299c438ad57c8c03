#pragma once
#include <det/transport/rank_acceptor.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::launch::supervisor {

// Connections between the nodes of a job before it has ranks: for the health check and for `det-launch
// preflight`. Both ends prove that they know a secret, which is in a file of the job.

/// What all nodes of a rendezvous agree on.
struct NodeRendezvous {
    std::string secret;
    std::string purpose;             // "health", "preflight"
    std::vector<std::string> hosts;  // of the job
    std::uint32_t own_index = 0;     // of this node among the hosts
    std::uint16_t port = 0;          // at which each node listens
};

/// Listens for the other nodes. Connections of others get no answer; see liveness::Acceptor.
class NodeListener {
public:
    using TimePoint = std::chrono::steady_clock::time_point;

    /// \return nullopt if the port is taken
    static std::optional<NodeListener> open(NodeRendezvous const& rendezvous);

    /// Blocks until a node has connected.
    /// \return the non-blocking connection; empty at the deadline
    UniqueFd accept_node(TimePoint deadline);

private:
    explicit NodeListener(liveness::Acceptor acceptor) : acceptor_(std::move(acceptor)) {}

    liveness::Acceptor acceptor_;
    std::vector<UniqueFd> admitted_;
};

/// Connects to another node of the rendezvous. Blocks and tries again until the deadline.
/// \param host index of the other node
/// \return the non-blocking connection; empty at the deadline, or if the host has no address
UniqueFd connect_to_node(NodeRendezvous const& rendezvous, std::uint32_t host,
                         NodeListener::TimePoint deadline);

}  // namespace det::launch::supervisor
