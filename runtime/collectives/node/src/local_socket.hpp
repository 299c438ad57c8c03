#pragma once
#include <det/foundation/files.hpp>

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace det::collectives::node {

using Deadline = std::chrono::steady_clock::time_point;

/// Sockets in a directory. Every wait ends at its deadline.
Result<UniqueFd> listen_at(std::filesystem::path const& directory, std::string const& name);
/// Nothing where the deadline has come. Processes of other users are not let in.
Result<std::optional<UniqueFd>> accept_one(int listener, Deadline deadline);
/// As soon as somebody listens there; nothing where the deadline has come.
Result<std::optional<UniqueFd>> connect_to(std::filesystem::path const& directory, std::string const& name,
                                           Deadline deadline);

/// A message with files; both sides know its size.
Status send_message(int socket, std::span<std::byte const> bytes, std::span<int const> files);
/// At most `files_limit` files; an Error where the message is not of this size.
Result<std::vector<UniqueFd>> receive_message(int socket, std::span<std::byte> bytes, std::size_t files_limit,
                                              Deadline deadline);

}  // namespace det::collectives::node
