#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/network_addresses.hpp>
#include <det/protocol/cluster_info.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace det::launch::node {

/// Chooses the network through which a node reaches its peers, as choose_interfaces() does. Pure.
NodeNetwork choose_network(std::vector<InterfaceAddress> const& own, std::string_view configured,
                           std::string const& route_address, std::string const& chief_address);

/// Detects the network by looking up one name: that of the chief (node 0), or on the chief that of node 1.
/// What can't be detected is empty. DET_INTER_NODE_NETWORK_INTERFACE holds the configured interfaces,
/// DET_HOST_SUFFIX what the names of nodes get.
NodeNetwork detect_network(std::vector<std::string> const& hosts, int node, Environment const& environment);

}  // namespace det::launch::node
