#pragma once
#include <det/foundation/files.hpp>
#include <det/protocol/rendezvous.hpp>

#include <chrono>

namespace det::transport {

using TimePoint = std::chrono::steady_clock::time_point;

/// Milliseconds from now, as poll(2) wants them: never negative, rounded up.
int remaining_ms(TimePoint deadline);

/// A socket that listens at this address, at a port that the system chooses; it never blocks.
Result<UniqueFd> listen_at(std::string const& address);
Result<std::uint16_t> port_of(UniqueFd const& socket);

/// Not connected yet; an Error comes when it is used.
Result<UniqueFd> start_connecting(Endpoint const& endpoint);
/// Sends at once what is small. The connection never blocks; the functions below wait for it.
Result<UniqueFd> connect_to(Endpoint const& endpoint, TimePoint deadline);
/// For an accepted connection: never blocks, sends at once what is small, notices a host that went away.
void set_options(UniqueFd const& connection);
/// For a connection on which the other side alone speaks. Linux would answer each of its small messages, once
/// it was read, by a packet that says no more than that.
void delay_acknowledgements(UniqueFd const& connection);

/// codes::timed_out at the deadline, codes::transport where the other side has closed.
Status send_all(UniqueFd const& connection, std::string_view bytes, TimePoint deadline);
Result<std::string> receive_exactly(UniqueFd const& connection, std::size_t size, TimePoint deadline);

}  // namespace det::transport
