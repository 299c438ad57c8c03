#pragma once
#include <det/foundation/files.hpp>
#include <det/protocol/rendezvous_file.hpp>

#include <chrono>

namespace det::transport {

using TimePoint = std::chrono::steady_clock::time_point;

/// Opens a non-blocking socket that listens at this address, at a port that the system chooses.
/// \param address numeric IPv4 or IPv6; other text is codes::bad_value. "::" takes IPv4 connections too
Result<UniqueFd> listen_at(std::string const& address);
Result<std::uint16_t> port_of(UniqueFd const& socket);
/// The own address of a connection, numeric; empty if it is not known.
std::string own_address_of(UniqueFd const& connection);

/// A connection that is being made, or has failed at once.
struct StartedConnection {
    UniqueFd socket;
    int problem = 0;  // errno of the failure; 0: none so far
};
Result<StartedConnection> begin_connecting(Endpoint const& endpoint);
/// Starts a non-blocking connect. Later failures are reported when the socket is used.
Result<UniqueFd> start_connecting(Endpoint const& endpoint);
/// Connects and blocks until the connection is made, at most until the deadline. The socket is non-blocking.
Result<UniqueFd> connect_to(Endpoint const& endpoint, TimePoint deadline);
/// Sets the options of a connection: TCP_NODELAY, and keep-alive to detect a lost host.
void set_options(UniqueFd const& connection);
/// Delays acknowledgements, so that they travel with data of the other direction. Without it Linux may send a
/// separate acknowledgement packet for each small message.
void delay_acknowledgements(UniqueFd const& connection);

/// Sends or receives all bytes; blocks at most until the deadline.
/// \return codes::timed_out at the deadline, codes::transport if the peer has closed the connection, another
///     socket error.
Status send_all(UniqueFd const& connection, std::string_view bytes, TimePoint deadline);
Result<std::string> receive_exactly(UniqueFd const& connection, std::size_t size, TimePoint deadline);

}  // namespace det::transport
