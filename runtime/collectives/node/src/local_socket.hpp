#pragma once
#include <det/foundation/files.hpp>

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace det::collectives::node {

using Deadline = std::chrono::steady_clock::time_point;

/// Unix sockets in a directory. Every wait ends at its deadline.
Result<UniqueFd> listen_at(std::filesystem::path const& directory, std::string const& name);
/// Returns nullopt when the deadline has passed. Rejects processes of other users.
Result<std::optional<UniqueFd>> accept_one(int listener, Deadline deadline);
/// Retries until a process listens there. Returns nullopt when the deadline has passed.
Result<std::optional<UniqueFd>> connect_to(std::filesystem::path const& directory, std::string const& name,
                                           Deadline deadline);

/// Sends a message with file descriptors. Both sides know its size.
Status send_message(int socket, std::span<std::byte const> bytes, std::span<int const> files);
/// Receives a message with at most `files_limit` descriptors. Fails if its size differs.
Result<std::vector<UniqueFd>> receive_message(int socket, std::span<std::byte> bytes, std::size_t files_limit,
                                              Deadline deadline);

}  // namespace det::collectives::node
