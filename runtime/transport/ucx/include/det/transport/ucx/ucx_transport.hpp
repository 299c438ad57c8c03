#pragma once
#include <det/transport/peer_wait.hpp>
#include <det/transport/transport.hpp>

namespace det::transport::ucx {

struct Options {
    /// Network interfaces, "ib0" or "hsn0,hsn1", whose RDMA adapters to use. Empty: UCX chooses. Without an
    /// adapter only the ranks of a node are reached, by shared memory.
    std::string interfaces = {};
    /// The user's UCX_TLS; empty if it is not set. Without it UCX uses all transports but tcp.
    std::string transports = {};
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

/// Whether UCX can connect this node with others: it is available, an RDMA adapter belongs to one of the
/// interfaces (to any interface if there are none in the list), and UCX_TLS allows to use it.
bool can_connect_nodes(std::string const& interfaces, std::string const& transports);

/// Whether a value of UCX_TLS names tcp, which this module leaves out. Pure.
bool is_tcp_left_out(std::string const& transports);

/// Opens a transport over UCX (InfiniBand and other RDMA networks, shared memory) between the ranks of
/// `bootstrap`. The environment variables of UCX apply, except UCX_MM_ERROR_HANDLING and
/// UCX_KEEPALIVE_INTERVAL, which the transport sets, UCX_NET_DEVICES if `interfaces` is set, and tcp in
/// UCX_TLS: UCX's own TCP listens at a port that asks for no secret, so it is never used. Opens det_ucx.so
/// first.
///
/// Collective over all ranks; blocks until all have called it. The destructor is collective too, unless the
/// rank has called abandon() or a rank is lost. When the process of a rank ends, waits for that rank fail: at
/// once over RDMA, and over shared memory within two seconds after its parent has reaped the process.
/// \return codes::not_supported if det_ucx.so or UCX is not usable; codes::transport if UCX fails; the
///   errors of the bootstrap.
Result<std::unique_ptr<Transport>> open_transport(std::unique_ptr<Bootstrap> bootstrap, Options options = {});

}  // namespace det::transport::ucx
