#pragma once
#include <det/protocol/json_value.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace det::launch::supervisor {

using Ports = std::map<std::string, std::uint16_t>;

/// The ports of environment.ports by their names, and those of environment.proxy_ports by their numbers as
/// text. Numbers below 1024 and above 65535 are left out. Pure.
Ports configured_ports(JsonValue const& config);

/// "DET_PORT_HTTP" for "http": letters become upper case, other bytes than letters and digits become '_'.
std::string port_variable(std::string_view name);

/// The ports that the runs of this job use. Trials that share this job get different ports.
class PortReservations {
public:
    /// Reserves a port for each name: the configured one, or the next higher one that no run of this job has
    /// and that is free on this host. A name for which there is none is left out.
    Ports reserve(Ports const& configured);
    void release(Ports const& reserved);

private:
    std::set<std::uint16_t> taken_;
};

}  // namespace det::launch::supervisor
