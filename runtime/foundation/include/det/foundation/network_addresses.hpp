#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det {

/// A network interface and one of its IPv4 or IPv6 addresses, as text.
struct InterfaceAddress {
    std::string interface;
    std::string address;
    friend bool operator==(InterfaceAddress const&, InterfaceAddress const&) = default;
};

/// The addresses of all interfaces of this host that are up, loopback included. Link-local IPv6 addresses
/// are left out. Empty if the system can't list them.
std::vector<InterfaceAddress> list_interface_addresses();

/// Whether the text is an IPv4 or IPv6 address. Pure.
bool is_numeric_address(std::string const& text);
/// Whether the address is 127.0.0.0/8 or ::1. Pure.
bool is_loopback_address(std::string_view address);

/// The source and destination address of packets to a host.
struct Route {
    std::string from, to;
};

/// Returns the route to the first of these numeric addresses that has one. Sends no packet.
std::optional<Route> find_route(std::vector<std::string> const& addresses);

struct ChosenInterfaces {
    std::string names;    // "hsn0,hsn1"; empty if none is known
    std::string address;  // empty if none is known
};

/// Chooses the interfaces through which a node reaches its peers: those of the `configured` interfaces
/// ("hsn0,hsn1") that the node has; if it has none of them, the interface of the route to a peer. The address
/// is that of the first chosen interface, if possible of the same family as `route_address`. Pure.
/// \param route_address the source address of that route; empty if there is none
ChosenInterfaces choose_interfaces(std::vector<InterfaceAddress> const& own, std::string_view configured,
                                   std::string const& route_address);

}  // namespace det
