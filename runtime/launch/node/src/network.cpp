#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/node/network.hpp>
#include <det/protocol/task_identity.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>

#include "host_names.hpp"

namespace det::launch::node {
namespace {

constexpr std::uint16_t any_port = 9;  // the "discard" port; no packet is sent

/// An IPv4 or IPv6 address in the form that sockets take.
union SocketAddress {
    sockaddr any;
    sockaddr_in four;
    sockaddr_in6 six;

    static std::optional<SocketAddress> parse(std::string const& text) {
        SocketAddress address{};
        if (::inet_pton(AF_INET, text.c_str(), &address.four.sin_addr) == 1) {
            address.four.sin_family = AF_INET;
            address.four.sin_port = htons(any_port);
            return address;
        }
        if (::inet_pton(AF_INET6, text.c_str(), &address.six.sin6_addr) != 1) return std::nullopt;
        address.six.sin6_family = AF_INET6;
        address.six.sin6_port = htons(any_port);
        return address;
    }
    socklen_t size() const { return any.sa_family == AF_INET6 ? sizeof six : sizeof four; }
};

std::string numeric(sockaddr const* address) {
    char text[INET6_ADDRSTRLEN] = "";
    void const* const bytes =
        address->sa_family == AF_INET6
            ? static_cast<void const*>(&reinterpret_cast<sockaddr_in6 const*>(address)->sin6_addr)
            : &reinterpret_cast<sockaddr_in const*>(address)->sin_addr;
    return ::inet_ntop(address->sa_family, bytes, text, sizeof text) == nullptr ? "" : text;
}

struct Route {
    std::string from, to;
};

bool is_link_local(sockaddr const* address) {
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<sockaddr_in6 const*>(address)->sin6_addr);
}

std::vector<InterfaceAddress> list_addresses() {
    ifaddrs* head = nullptr;
    if (::getifaddrs(&head) != 0) return {};
    std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> const list(head, ::freeifaddrs);
    std::vector<InterfaceAddress> addresses;
    for (auto const* entry = head; entry != nullptr; entry = entry->ifa_next) {
        auto const* address = entry->ifa_addr;
        if (address == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
        if (address->sa_family != AF_INET && address->sa_family != AF_INET6) continue;
        if (is_link_local(address)) continue;
        addresses.push_back({entry->ifa_name, numeric(address)});
    }
    return addresses;
}

/// The source and destination address of packets to a host. Uses the first of its addresses with a route.
std::optional<Route> find_route(std::vector<std::string> const& addresses) {
    for (auto const& text : addresses) {
        auto const to = SocketAddress::parse(text);
        if (!to) continue;
        UniqueFd const socket(::socket(to->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        SocketAddress own{};
        socklen_t size = sizeof own;
        if (!socket || ::connect(socket.get(), &to->any, to->size()) != 0) continue;
        if (::getsockname(socket.get(), &own.any, &size) == 0) return Route{numeric(&own.any), text};
    }
    return std::nullopt;
}

bool same_family(std::string_view a, std::string_view b) {
    return (a.find(':') == std::string_view::npos) == (b.find(':') == std::string_view::npos);
}

}  // namespace

NodeNetwork choose_network(std::vector<InterfaceAddress> const& own, std::string_view configured,
                           std::string const& route_address, std::string const& chief_address) {
    NodeNetwork network{chief_address, route_address, ""};
    bool address_found = false;
    for (auto const name : split(configured, ',')) {
        std::vector<std::string_view> addresses;
        for (auto const& [interface, address] : own) {
            if (interface == trim(name)) addresses.push_back(address);
        }
        if (addresses.empty()) continue;
        network.interface += (network.interface.empty() ? "" : ",") + std::string(trim(name));
        auto const better = std::ranges::find_if(
            addresses, [&](std::string_view address) { return same_family(address, route_address); });
        if (!address_found) network.address = better == addresses.end() ? addresses.front() : *better;
        address_found = true;
    }
    if (!network.interface.empty()) return network;
    auto const of_route = std::ranges::find(own, route_address, &InterfaceAddress::address);
    if (of_route != own.end()) network.interface = of_route->interface;
    return network;
}

NodeNetwork detect_network(std::vector<std::string> const& hosts, int node, Environment const& environment) {
    if (hosts.size() < 2) return {};  // there are no peers
    auto const configured = environment.find(variables::inter_node_network_interface).value_or("");
    auto const route = find_route(look_up_host(node == 0 ? hosts[1] : hosts[0], environment));
    auto network =
        choose_network(list_addresses(), configured, route ? route->from : "", route ? route->to : "");
    // The chief does not look up its own name: on many hosts it resolves to 127.0.1.1.
    if (node == 0) network.chief_address = network.address;
    return network;
}

}  // namespace det::launch::node
