#pragma once
#include <string>
#include <vector>

#include "cluster_options.hpp"
#include "namespaces.hpp"

namespace det::loopback {

/// The hosts of the cluster: the controller, on which the init process runs, and the nodes. Each host is a
/// set of namespaces. A bridge in the controller's network namespace connects them, with one veth pair per
/// node; the host machine's network is not touched.
class ClusterHosts {
public:
    /// Makes the hosts and moves the calling process to the controller's host. The caller must be the first
    /// process of a PID namespace.
    static Result<ClusterHosts> make(InitOptions const& options);

    HostNamespaces const& controller() const { return controller_; }
    std::vector<HostNamespaces> const& nodes() const { return nodes_; }

    // The functions below must be called on the controller's host.
    static Status disconnect(int node);
    static Status reconnect(int node);
    /// Kills every process on the node and waits up to 2 s until all of them have ended.
    void kill_processes_on(int node) const;

private:
    explicit ClusterHosts(HostNamespaces controller) : controller_(std::move(controller)) {}

    HostNamespaces controller_;
    std::vector<HostNamespaces> nodes_;
};

}  // namespace det::loopback
