#pragma once
#include <det/transport/patience.hpp>
#include <det/transport/transport.hpp>

namespace det::transport {

struct UcxOptions {
    /// Network interfaces to use, "eth0" or "hsn0,hsn1", with the RDMA devices that belong to them. Empty: as
    /// UCX chooses. Shared memory is used between ranks of one node in any case.
    std::string interfaces = {};
    /// How many ranks are on this node: they may have to share its cores while they wait.
    int local_ranks = 1;
    /// Tells of ranks that are lost though UCX has not noticed, and of those that this rank does not talk to.
    std::unique_ptr<Watch> watch = {};
    WaitRules waits = {};
};

/// The ranks of the bootstrap, over what UCX finds: InfiniBand and its like, TCP, shared memory. All ranks
/// open it together, and close it together unless one abandons. A rank whose process ends is an error on
/// whoever waits for it: at once over TCP, within a second or two over shared memory. UCX's own variables
/// (UCX_TLS ...) hold where the options say nothing.
Result<std::unique_ptr<Transport>> open_ucx_transport(std::unique_ptr<Bootstrap> bootstrap,
                                                      UcxOptions options = {});

}  // namespace det::transport
