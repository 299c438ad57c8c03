#include "ports.hpp"

#include <det/foundation/files.hpp>
#include <det/protocol/json.hpp>

#include <arpa/inet.h>
#include <cctype>
#include <netinet/in.h>
#include <sys/socket.h>

namespace det::launch::supervisor {
namespace {

constexpr std::int64_t first_port = 1024;
constexpr std::int64_t last_port = 65535;

void add_port(Ports& ports, std::string const& name, Json const& number) {
    if (!number.is_number_integer()) return;
    auto const port = number.get<std::int64_t>();
    if (port >= first_port && port <= last_port) ports[name] = static_cast<std::uint16_t>(port);
}

/// Whether a program could listen on the port of this host now.
bool is_free_here(std::uint16_t port) {
    UniqueFd const socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    int const on = 1;  // connections that have just ended do not count
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    address.sin_port = htons(port);
    return ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace

Ports configured_ports(JsonValue const& config) {
    Ports ports;
    auto const environment = config->is_object() ? config->value("environment", Json()) : Json();
    if (!environment.is_object()) return ports;
    auto const proxied = environment.value("proxy_ports", Json());
    if (proxied.is_array()) {
        for (auto const& each : proxied) {
            auto const number = each.is_object() ? each.value("proxy_port", Json()) : Json();
            add_port(ports, to_line(number), number);
        }
    }
    auto const named = environment.value("ports", Json());
    if (named.is_object()) {
        for (auto const& [name, number] : named.items()) add_port(ports, name, number);
    }
    return ports;
}

std::string port_variable(std::string_view name) {
    std::string variable = "DET_PORT_";
    for (unsigned char const byte : name)
        variable += byte < 0x80 && std::isalnum(byte) != 0 ? static_cast<char>(std::toupper(byte)) : '_';
    return variable;
}

Ports PortReservations::reserve(Ports const& configured) {
    Ports reserved;
    for (auto const& [name, wanted] : configured) {
        for (std::int64_t port = wanted; port <= last_port; ++port) {
            auto const number = static_cast<std::uint16_t>(port);
            if (taken_.contains(number) || !is_free_here(number)) continue;
            taken_.insert(number);
            reserved[name] = number;
            break;
        }
    }
    return reserved;
}

void PortReservations::release(Ports const& reserved) {
    for (auto const& [name, port] : reserved) taken_.erase(port);
}

}  // namespace det::launch::supervisor
