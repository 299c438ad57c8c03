#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/placement/network.hpp>

#include <algorithm>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>

namespace det::placement {
namespace {

constexpr char any_port[] = "9";  // "discard": nothing is sent

std::string numeric(sockaddr const* address, socklen_t size) {
    char text[NI_MAXHOST];
    if (::getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) return "";
    return text;
}

socklen_t size_of(sockaddr const* address) {
    return address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

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
        addresses.push_back({entry->ifa_name, numeric(address, size_of(address))});
    }
    return addresses;
}

struct Route {
    std::string from, to;
};

/// The addresses between which packets to that host would travel, of the first kind (IPv4, IPv6) that has a
/// way.
std::optional<Route> find_route(std::string const& host) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* head = nullptr;
    if (::getaddrinfo(host.c_str(), any_port, &hints, &head) != 0) return std::nullopt;
    std::unique_ptr<addrinfo, void (*)(addrinfo*)> const list(head, ::freeaddrinfo);
    for (auto const* entry = head; entry != nullptr; entry = entry->ai_next) {
        UniqueFd const socket(::socket(entry->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        sockaddr_storage own{};
        socklen_t size = sizeof own;
        auto* const generic = reinterpret_cast<sockaddr*>(&own);
        if (!socket || ::connect(socket.get(), entry->ai_addr, entry->ai_addrlen) != 0) continue;
        if (::getsockname(socket.get(), generic, &size) != 0) continue;
        return Route{numeric(generic, size), numeric(entry->ai_addr, entry->ai_addrlen)};
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

NodeNetwork look_at_network(std::vector<std::string> const& hosts, int node, std::string_view configured) {
    if (hosts.size() < 2) return {};  // no peers to be reached
    auto const route = find_route(node == 0 ? hosts[1] : hosts[0]);
    auto network =
        choose_network(list_addresses(), configured, route ? route->from : "", route ? route->to : "");
    // A host's own name often means 127.0.1.1 to itself.
    if (node == 0) network.chief_address = network.address;
    return network;
}

}  // namespace det::placement
