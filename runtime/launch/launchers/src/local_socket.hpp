#pragma once
#include <det/foundation/files.hpp>

#include <optional>
#include <string>
#include <string_view>

// Sockets with names in Linux's abstract namespace: no file stays when their process is killed. Any user may
// take such a name, so both sides check the other one's user.
namespace det::launch::launchers {

/// The name on this node of what all nodes call `name`. Several nodes of a test may share the kernel.
std::string local_socket_name(std::string_view name, std::string_view node, std::string_view what);

/// nullopt: another process listens there. Listens without blocking.
Result<std::optional<UniqueFd>> listen_locally(std::string const& name);
/// nullopt: no process of this user listens there, or it does not accept within a second. A call that sends
/// has the same limit.
std::optional<UniqueFd> connect_locally(std::string const& name);
bool is_peer_of_this_user(int socket);

}  // namespace det::launch::launchers
