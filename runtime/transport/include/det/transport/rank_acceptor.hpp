#pragma once
#include <det/liveness/acceptor.hpp>
#include <det/protocol/rendezvous_file.hpp>
#include <det/transport/handshake.hpp>

namespace det::transport {

/// An Acceptor whose peers are the ranks of a job, or its nodes: Admitted::peer is the number that the peer
/// has proven.
/// \param listener a non-blocking socket that listens
/// \param is_connected returns whether a peer of this number is connected already; such a peer is refused
/// \param limits nullopt: PendingLimits::for_ranks
/// \return an error of the socket
Result<liveness::Acceptor> make_rank_acceptor(UniqueFd listener, SessionKey const& key,
                                              std::function<bool(Rank)> is_connected,
                                              std::optional<liveness::PendingLimits> const& limits = {});

/// The other side: proves to the server that this is `rank`. Blocks, at most until the deadline.
/// \param socket a non-blocking connection to the server
/// \param server for messages
/// \param greeting_deadline limits the time until the server's first message
/// \return codes::permission if the server rejected this rank or did not prove that it knows the secret;
///     codes::name_taken if it has such a rank already; codes::transport if it closed the connection or is no
///     server of a run; codes::timed_out; another error of the socket
Status authenticate(UniqueFd const& socket, Endpoint const& server, SessionKey const& key, Rank rank,
                    std::chrono::steady_clock::time_point deadline,
                    std::chrono::steady_clock::time_point greeting_deadline);

}  // namespace det::transport
