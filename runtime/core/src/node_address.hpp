#pragma once
#include <det/foundation/result.hpp>

#include <string>
#include <string_view>

namespace det::core {

/// Returns the address at which ranks on other nodes reach this node: that of the first of the `interfaces`
/// ("hsn0,hsn1", may be empty) that this node has, else the source address of packets to the chief's node. If
/// that is a loopback address because the chief's host name resolves to one, it is another IPv4 address of
/// the node.
///
/// \param chief_address an address or a host name of the chief's node
/// \return codes::transport if the name can't be resolved, or if the node has neither a route nor one of the
///     interfaces
Result<std::string> find_node_address(std::string const& chief_address, std::string_view interfaces);

/// The name of this host, for messages.
std::string find_host_name();

}  // namespace det::core
