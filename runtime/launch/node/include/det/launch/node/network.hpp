#pragma once
#include <det/foundation/environment.hpp>
#include <det/protocol/cluster_info.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace det::launch::node {

/// An IPv4 or IPv6 address, as text, of an interface that is up. Link-local addresses are left out.
struct InterfaceAddress {
    std::string interface;
    std::string address;
    friend bool operator==(InterfaceAddress const&, InterfaceAddress const&) = default;
};

/// How a node reaches its peers: through those of the `configured` interfaces ("hsn0,hsn1") that it has; if
/// it has none of them, through the interface with the address from which packets to a peer leave. Pure.
NodeNetwork choose_network(std::vector<InterfaceAddress> const& own, std::string_view configured,
                           std::string const& route_address, std::string const& chief_address);

/// Detects the network by looking up one name: the chief's, or on the chief (node 0) that of its first peer.
/// What can't be detected is empty. DET_INTER_NODE_NETWORK_INTERFACE configures interfaces.
NodeNetwork detect_network(std::vector<std::string> const& hosts, int node, Environment const& environment);

}  // namespace det::launch::node
