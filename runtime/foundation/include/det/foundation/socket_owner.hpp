#pragma once
#include <optional>
#include <sys/types.h>

namespace det {

/// Asks the kernel for the user who owns the other end of a TCP connection. Does not block.
/// \param connection a connected TCP socket
/// \return nullopt if the other end is not a socket of this network namespace (another host, a container with
///     a network of its own), or if the kernel does not answer such questions
std::optional<uid_t> find_owner_of_peer(int connection);

}  // namespace det
