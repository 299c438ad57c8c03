#include "tcp_connection.hpp"

#include <algorithm>
#include <poll.h>
#include <sys/socket.h>

namespace det::transport {
namespace {

/// Adds to `bytes` until there are `size` of them.
Progress read_up_to(UniqueFd const& socket, std::string& bytes, std::size_t size) {
    char buffer[answer_bytes + verdict_bytes];
    auto const received = ::recv(socket.get(), buffer, std::min(sizeof buffer, size - bytes.size()), 0);
    if (received > 0) bytes.append(buffer, static_cast<std::size_t>(received));
    return progress_of(received);
}

Progress write_from(UniqueFd const& socket, std::string& bytes) {
    if (bytes.empty()) return Progress::nothing;
    auto const sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) bytes.erase(0, static_cast<std::size_t>(sent));
    return progress_of(sent);
}

}  // namespace

Result<OutgoingConnection> OutgoingConnection::begin(Endpoint const& peer, Club const& club, Rank self) {
    DET_TRY_ASSIGN(auto socket, start_connecting(peer));
    acknowledge_late(socket);
    return OutgoingConnection(std::move(socket), club, self);
}

short OutgoingConnection::events() const {
    bool const has_to_say = !to_say_.empty() || (state_ == State::open && !writer_.is_idle());
    return static_cast<short>(has_to_say ? POLLIN | POLLOUT : POLLIN);
}

Progress OutgoingConnection::write() {
    return state_ == State::open && to_say_.empty() ? writer_.advance(socket_) : Progress::nothing;
}

Progress OutgoingConnection::advance(MessageReader::Place const& place) {
    if (!to_say_.empty()) return write_from(socket_, to_say_);
    if (state_ != State::open) return read_reply();
    return both(writer_.advance(socket_), reader_.advance(socket_, place));
}

Progress OutgoingConnection::read_reply() {
    auto const wanted = state_ == State::awaiting_greeting ? greeting_bytes : verdict_bytes;
    auto const progress = read_up_to(socket_, received_, wanted);
    if (received_.size() < wanted) return progress;
    if (state_ == State::awaiting_greeting) return answer_greeting();
    state_ = State::open;
    bool const is_welcome = check_verdict(club_, server_nonce_, answer_, received_) == Admission::welcome;
    return is_welcome ? Progress::something : Progress::broken;
}

Progress OutgoingConnection::answer_greeting() {
    auto const nonce = parse_greeting(received_);
    received_.clear();
    if (!nonce) return Progress::broken;
    server_nonce_ = *nonce;
    answer_ = render_answer(club_, self_, server_nonce_, make_nonce());
    to_say_ = answer_;
    state_ = State::awaiting_verdict;
    return Progress::something;
}

IncomingConnection::IncomingConnection(UniqueFd socket, Moment answer_until)
    : socket_(std::move(socket)),
      answer_until_(answer_until),
      nonce_(make_nonce()),
      to_say_(render_greeting(nonce_)) {}

short IncomingConnection::events() const {
    return static_cast<short>(to_say_.empty() && writer_.is_idle() ? POLLIN : POLLIN | POLLOUT);
}

Progress IncomingConnection::advance(Club const& club, std::function<bool(Rank)> const& may_join,
                                     Place const& place) {
    if (!to_say_.empty()) return write_from(socket_, to_say_);
    if (!peer_) return read_answer(club, may_join);
    auto const from_peer = [&](MessageHead const& head) { return place(*peer_, head); };
    return both(writer_.advance(socket_), reader_.advance(socket_, from_peer));
}

Progress IncomingConnection::read_answer(Club const& club, std::function<bool(Rank)> const& may_join) {
    auto const progress = read_up_to(socket_, received_, answer_bytes);
    if (received_.size() < answer_bytes) return progress;
    auto const rank = check_answer(club, nonce_, received_);
    if (!rank || !may_join(*rank)) return Progress::broken;
    peer_ = rank;
    to_say_ = render_verdict(club, Admission::welcome, nonce_, received_);
    return Progress::something;
}

}  // namespace det::transport
