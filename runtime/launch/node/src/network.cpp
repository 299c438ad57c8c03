#include <det/launch/node/network.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/task_identity.hpp>

#include "host_names.hpp"

namespace det::launch::node {

NodeNetwork choose_network(std::vector<InterfaceAddress> const& own, std::string_view configured,
                           std::string const& route_address, std::string const& chief_address) {
    auto [names, address] = choose_interfaces(own, configured, route_address);
    return {chief_address, std::move(address), std::move(names)};
}

NodeNetwork detect_network(std::vector<std::string> const& hosts, int node, Environment const& environment) {
    if (hosts.size() < 2) return {};  // there are no peers
    auto const configured = environment.find(variables::inter_node_network_interface).value_or("");
    auto const peer = add_host_suffix(node == 0 ? hosts[1] : hosts[0],
                                      environment.find(variables::host_suffix).value_or(""));
    auto const route = find_route(look_up_host(peer, environment));
    auto network = choose_network(list_interface_addresses(), configured, route ? route->from : "",
                                  route ? route->to : "");
    // The chief does not look up its own name: on many hosts it resolves to 127.0.1.1.
    if (node == 0) network.chief_address = network.address;
    return network;
}

}  // namespace det::launch::node
