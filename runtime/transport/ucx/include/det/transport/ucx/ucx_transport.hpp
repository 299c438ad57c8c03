#pragma once
#include <det/transport/peer_wait.hpp>
#include <det/transport/transport.hpp>

namespace det::transport::ucx {

struct Options {
    /// Network interfaces to use, "eth0" or "hsn0,hsn1", with the RDMA devices that belong to them. Empty:
    /// UCX chooses. Does not affect shared memory between the ranks of a node.
    std::string interfaces = {};
    /// Number of ranks on this node. If the node has fewer cores, waiting ranks yield instead of spinning.
    int local_ranks = 1;
    /// Reports lost ranks that UCX does not notice, and those with which this rank exchanges no messages. May
    /// be null.
    std::unique_ptr<RankMonitor> monitor = {};
    WaitPolicy waits = {};
};

/// Whether det_ucx.so and UCX are usable in this process: they load, and the module is of this build and for
/// the UCX that is loaded. Loads them.
bool is_available();

/// Opens a transport over UCX (InfiniBand and other RDMA networks, TCP, shared memory) between the ranks of
/// `bootstrap`. The environment variables of UCX (UCX_TLS ...) apply, except UCX_MM_ERROR_HANDLING and
/// UCX_KEEPALIVE_INTERVAL, which the transport sets, and UCX_NET_DEVICES if `interfaces` is set. Opens
/// det_ucx.so first.
///
/// Collective over all ranks; blocks until all have called it. The destructor is collective too, unless the
/// rank has called abandon() or a rank is lost. When the process of a rank ends, waits for that rank fail: at
/// once over TCP, and over shared memory within two seconds after its parent has reaped the process.
/// \return codes::not_supported if det_ucx.so or UCX is not usable; codes::transport if UCX fails; the
///   errors of the bootstrap.
Result<std::unique_ptr<Transport>> open_transport(std::unique_ptr<Bootstrap> bootstrap, Options options = {});

}  // namespace det::transport::ucx
