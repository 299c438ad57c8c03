#include "node_address.hpp"

#include <det/foundation/network_addresses.hpp>

#include <algorithm>
#include <climits>
#include <fmt/format.h>
#include <memory>
#include <netdb.h>
#include <unistd.h>
#include <vector>

namespace det::core {
namespace {

constexpr char interface_hint[] =
    "give an address that all nodes can reach, or set "
    "DET_INTER_NODE_NETWORK_INTERFACE to the interface that connects them";

Result<std::vector<std::string>> resolve(std::string const& host) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* head = nullptr;
    if (int const problem = ::getaddrinfo(host.c_str(), nullptr, &wanted, &head); problem != 0) {
        return Error{
            codes::transport,
            fmt::format("the chief's host '{}' can't be resolved: {}", host, ::gai_strerror(problem)),
            interface_hint};
    }
    std::unique_ptr<addrinfo, void (*)(addrinfo*)> const list(head, ::freeaddrinfo);
    std::vector<std::string> addresses;
    for (auto const* entry = head; entry != nullptr; entry = entry->ai_next) {
        char text[NI_MAXHOST] = "";
        if (::getnameinfo(entry->ai_addr, entry->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) ==
            0)
            addresses.emplace_back(text);
    }
    return addresses;
}

}  // namespace

Result<std::string> find_node_address(std::string const& chief_address, std::string_view interfaces) {
    DET_TRY_ASSIGN(auto const addresses, resolve(chief_address));
    auto const route = find_route(addresses);
    auto const own = list_interface_addresses();
    if (!route && interfaces.empty()) {
        return Error{codes::transport,
                     fmt::format("this node has no route to the chief's host '{}'", chief_address),
                     interface_hint};
    }
    auto chosen = choose_interfaces(own, interfaces, route ? route->from : "");
    if (chosen.address.empty()) {
        return Error{codes::transport, fmt::format("this node has no interface '{}'", interfaces),
                     interface_hint};
    }
    if (!is_loopback_address(chosen.address) || is_numeric_address(chief_address)) return chosen.address;
    // On many hosts the host's own name resolves to 127.0.1.1, to which other nodes can't connect.
    auto const other = std::ranges::find_if(own, [](auto const& entry) {
        return !is_loopback_address(entry.address) && entry.address.find(':') == std::string::npos;
    });
    return other == own.end() ? chosen.address : other->address;
}

std::string find_host_name() {
    char name[HOST_NAME_MAX + 1] = "";
    (void)::gethostname(name, sizeof name - 1);
    return name;
}

}  // namespace det::core
