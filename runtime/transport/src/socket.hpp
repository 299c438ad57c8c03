#pragma once
#include <det/foundation/files.hpp>
#include <det/protocol/rendezvous.hpp>

#include <chrono>

namespace det::transport {

using TimePoint = std::chrono::steady_clock::time_point;

/// The timeout in milliseconds for poll(2): never negative, rounded up.
int remaining_ms(TimePoint deadline);

/// A socket that listens at this address, at a port that the system chooses; it never blocks.
Result<UniqueFd> listen_at(std::string const& address);
Result<std::uint16_t> port_of(UniqueFd const& socket);

/// Starts a non-blocking connect. A failure is reported when the socket is used.
Result<UniqueFd> start_connecting(Endpoint const& endpoint);
/// Sends at once what is small. The connection never blocks; the functions below wait for it.
Result<UniqueFd> connect_to(Endpoint const& endpoint, TimePoint deadline);
/// Sets the options of a connection: non-blocking, TCP_NODELAY, and keep-alive to detect a lost host.
void set_options(UniqueFd const& connection);
/// For a connection on which only the peer sends: without it Linux sends a separate acknowledgement packet
/// for each small message.
void delay_acknowledgements(UniqueFd const& connection);

/// codes::timed_out at the deadline, codes::transport where the other side has closed.
Status send_all(UniqueFd const& connection, std::string_view bytes, TimePoint deadline);
Result<std::string> receive_exactly(UniqueFd const& connection, std::size_t size, TimePoint deadline);

}  // namespace det::transport
