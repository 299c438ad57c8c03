#pragma once
#include <det/foundation/environment.hpp>
#include <det/protocol/task_identity.hpp>

#include <filesystem>
#include <string_view>

namespace det::launch::node {

/// Where Linux and NCCL say what network a node has. Tests give recorded copies.
struct NetworkFiles {
    std::filesystem::path sysfs = "/sys";
    std::filesystem::path nccl_conf = "/etc/nccl.conf";
};

/// The variables by which NCCL, RCCL, Gloo, TensorPipe, UCX and libfabric use the network to the other nodes.
/// Leaves out those that the environment has, also with an empty value, and those that the site sets in
/// nccl.conf.
/// \param interfaces that lead to the other nodes: "hsn0,hsn1"; empty: no variables
Variables network_variables(std::string_view interfaces, Environment const& environment,
                            NetworkFiles const& files = {});

}  // namespace det::launch::node
