#pragma once
#include <string>
#include <string_view>

namespace det::transport::ucx {

// The transports of UCX, as UCX_TLS lists them: "rc,self,sm", or "^tcp" for all others. UCX's transport over
// TCP listens at a port without a secret, so this module never uses it.

/// The transports that remain of the user's UCX_TLS without tcp; those of the node if none remains. Pure.
/// \param wanted the value of UCX_TLS; empty if it is not set
std::string without_tcp(std::string_view wanted);

/// Whether a value of UCX_TLS names tcp itself, not only all transports. Pure.
bool names_tcp(std::string_view wanted);

/// Whether one of these transports may reach another node. Pure.
bool reach_other_nodes(std::string_view transports);

/// The transports between processes of one node.
inline constexpr std::string_view transports_of_node = "self,sm";

}  // namespace det::transport::ucx
