#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/node/network_variables.hpp>

#include <algorithm>

namespace det::launch::node {
namespace {

namespace fs = std::filesystem;

bool has_entries(fs::path const& directory) {
    auto const names = list_directory(directory);
    return names && !names->empty();
}

/// What libfabric needs for Slingshot, as the manuals of LUMI, Alps and Isambard set it for NCCL and RCCL.
Variables slingshot_variables() {
    return {{"FI_PROVIDER", "cxi"},
            {"FI_CXI_DEFAULT_CQ_SIZE", "131072"},
            {"FI_CXI_DISABLE_HOST_REGISTER", "1"},
            {"FI_MR_CACHE_MONITOR", "userfaultfd"}};
}

}  // namespace

Variables network_variables(std::string_view interfaces, Environment const& environment,
                            NetworkFiles const& files) {
    if (interfaces.empty()) return {};
    std::string const names(interfaces), first(interfaces.substr(0, interfaces.find(',')));
    // NCCL takes names as prefixes, so that eth1 is eth10 too, unless they follow '='.
    Variables wanted{
        {"NCCL_SOCKET_IFNAME", "=" + names}, {"GLOO_SOCKET_IFNAME", names}, {"TP_SOCKET_IFNAME", first}};
    // UCX chooses among RDMA adapters better than by one interface: it uses several, the nearest to a GPU
    // first. Without adapters it would also try bridges of containers. On one host it uses shared memory.
    if (!has_entries(files.sysfs / "class/infiniband") && first != "lo")
        wanted.emplace_back("UCX_NET_DEVICES", names);
    if (has_entries(files.sysfs / "class/cxi")) {
        for (auto& variable : slingshot_variables()) wanted.push_back(std::move(variable));
    }
    auto const nccl_conf = read_file(files.nccl_conf).value_or("");
    std::erase_if(wanted, [&](auto const& variable) {
        return environment.find(variable.first) || nccl_conf.find(variable.first) != std::string::npos;
    });
    return wanted;
}

}  // namespace det::launch::node
