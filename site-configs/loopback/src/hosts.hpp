#pragma once
#include <det/foundation/process.hpp>

#include <vector>

#include "keeper_options.hpp"
#include "namespaces.hpp"
#include "network.hpp"

namespace det::loopback {

/// The machines of the cluster, as namespaces: the controller's, in which the keeper itself lives, and one
/// set for each node.
class Hosts {
public:
    /// Moves the calling process, the first of a PID namespace, to the controller's host.
    static Result<Hosts> make(KeeperOptions const& options, Network& network);

    HostNamespaces const& controller() const { return controller_; }
    std::vector<HostNamespaces> const& nodes() const { return nodes_; }
    /// Ends every process that lives on this node.
    void kill_processes_on(int node) const;

private:
    explicit Hosts(HostNamespaces controller) : controller_(std::move(controller)) {}

    HostNamespaces controller_;
    std::vector<HostNamespaces> nodes_;
};

}  // namespace det::loopback
