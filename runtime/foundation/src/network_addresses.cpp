#include <det/foundation/files.hpp>
#include <det/foundation/network_addresses.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace det {
namespace {

constexpr std::uint16_t any_port = 9;  // the "discard" port; no packet is sent

/// An IPv4 or IPv6 address in the form that sockets take.
union NumericAddress {
    sockaddr any;
    sockaddr_in four;
    sockaddr_in6 six;

    static std::optional<NumericAddress> parse(std::string const& text) {
        NumericAddress address{};
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

bool is_link_local(sockaddr const* address) {
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<sockaddr_in6 const*>(address)->sin6_addr);
}

bool same_family(std::string_view a, std::string_view b) {
    return (a.find(':') == std::string_view::npos) == (b.find(':') == std::string_view::npos);
}

}  // namespace

std::vector<InterfaceAddress> list_interface_addresses() {
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

bool is_numeric_address(std::string const& text) { return NumericAddress::parse(text).has_value(); }

bool is_loopback_address(std::string_view address) { return address.starts_with("127.") || address == "::1"; }

std::optional<Route> find_route(std::vector<std::string> const& addresses) {
    for (auto const& text : addresses) {
        auto const to = NumericAddress::parse(text);
        if (!to) continue;
        UniqueFd const socket(::socket(to->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        NumericAddress own{};
        socklen_t size = sizeof own;
        if (!socket || ::connect(socket.get(), &to->any, to->size()) != 0) continue;
        if (::getsockname(socket.get(), &own.any, &size) == 0) return Route{numeric(&own.any), text};
    }
    return std::nullopt;
}

ChosenInterfaces choose_interfaces(std::vector<InterfaceAddress> const& own, std::string_view configured,
                                   std::string const& route_address) {
    ChosenInterfaces chosen{"", route_address};
    bool address_found = false;
    for (auto const name : split(configured, ',')) {
        std::vector<std::string_view> addresses;
        for (auto const& [interface, address] : own) {
            if (interface == trim(name)) addresses.push_back(address);
        }
        if (addresses.empty()) continue;
        chosen.names += (chosen.names.empty() ? "" : ",") + std::string(trim(name));
        auto const better = std::ranges::find_if(
            addresses, [&](std::string_view address) { return same_family(address, route_address); });
        if (!address_found) chosen.address = better == addresses.end() ? addresses.front() : *better;
        address_found = true;
    }
    if (!chosen.names.empty()) return chosen;
    auto const of_route = std::ranges::find(own, route_address, &InterfaceAddress::address);
    if (of_route != own.end()) chosen.names = of_route->interface;
    return chosen;
}

}  // namespace det
