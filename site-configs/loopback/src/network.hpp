#pragma once
#include <det/foundation/process.hpp>

#include <string>
#include <vector>

#include "namespaces.hpp"

// The wires between the hosts of a cluster: one bridge, a veth pair for each node. All of it lies in network
// namespaces of the cluster; the host's network never sees any of it.
namespace det::loopback {

class Network {
public:
    explicit Network(ProcessRunner& runner) : runner_(runner) {}

    /// Called where the controller lives.
    Status make_bridge();
    /// The other end appears as eth0 in `node`.
    Status plug_in(int node_index, HostNamespaces const& node);
    Status cut(int node_index);
    Status heal(int node_index);

    /// Called on the node.
    Status configure_node(int node_index);

private:
    Status ip(std::vector<std::string> arguments);

    ProcessRunner& runner_;
};

}  // namespace det::loopback
