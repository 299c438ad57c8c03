#include "network.hpp"

#include <det/foundation/text.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include "codes.hpp"
#include "slurm_config.hpp"

namespace det::loopback {
namespace {

constexpr char const* bridge = "br0";

std::string host_side(int node_index) { return fmt::format("vd{}", node_index); }

std::string with_prefix(std::string const& address) {
    return fmt::format("{}/{}", address, network_prefix_bits);
}

}  // namespace

Status Network::ip(std::vector<std::string> arguments) {
    auto const what = join(arguments, " ");
    arguments.insert(arguments.begin(), "ip");
    DET_TRY_ASSIGN(auto const output, runner_.run({arguments, Environment::of_this_process()}));
    if (output.exit_code == 0) return Ok{};
    return Error{codes::process, fmt::format("'ip {}' failed", what)}.noting(
        fmt::format("ip said: {}", trim(output.err)));
}

Status Network::make_bridge() {
    DET_TRY(ip({"link", "set", "lo", "up"}));
    DET_TRY(ip({"link", "add", bridge, "type", "bridge"}));
    DET_TRY(ip({"addr", "add", with_prefix(controller_address), "dev", bridge}));
    return ip({"link", "set", bridge, "up"});
}

Status Network::plug_in(int node_index, HostNamespaces const& node) {
    // ip takes a path in the place of a name: the node's namespace is a descriptor of ours.
    auto const there = fmt::format("/proc/{}/fd/{}", ::getpid(), node.network().get());
    DET_TRY(
        ip({"link", "add", host_side(node_index), "type", "veth", "peer", "name", "eth0", "netns", there}));
    return ip({"link", "set", host_side(node_index), "master", bridge, "up"});
}

Status Network::cut(int node_index) { return ip({"link", "set", host_side(node_index), "down"}); }

Status Network::heal(int node_index) { return ip({"link", "set", host_side(node_index), "up"}); }

Status Network::configure_node(int node_index) {
    DET_TRY(ip({"link", "set", "lo", "up"}));
    DET_TRY(ip({"addr", "add", with_prefix(node_address(node_index)), "dev", "eth0"}));
    return ip({"link", "set", "eth0", "up"});
}

}  // namespace det::loopback
