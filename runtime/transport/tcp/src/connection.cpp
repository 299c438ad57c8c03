#include "connection.hpp"

#include <algorithm>
#include <poll.h>
#include <sys/socket.h>

namespace det::transport::tcp {
namespace {

/// Calls recv(2) once and appends the data to `bytes`, which then has at most `size` bytes.
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

Result<OutgoingConnection> OutgoingConnection::begin(Endpoint const& peer, SessionKey const& key, Rank self) {
    DET_TRY_ASSIGN(auto socket, start_connecting(peer));
    delay_acknowledgements(socket);
    return OutgoingConnection(std::move(socket), key, self);
}

short OutgoingConnection::events() const {
    bool const has_unsent = !unsent_.empty() || (state_ == State::open && !writer_.is_idle());
    return static_cast<short>(has_unsent ? POLLIN | POLLOUT : POLLIN);
}

Progress OutgoingConnection::write() {
    return state_ == State::open && unsent_.empty() ? writer_.advance(socket_) : Progress::nothing;
}

Progress OutgoingConnection::advance(MessageReader::Match const& match) {
    if (!unsent_.empty()) return write_from(socket_, unsent_);
    if (state_ != State::open) return read_reply();
    return both(writer_.advance(socket_), reader_.advance(socket_, match));
}

Progress OutgoingConnection::read_reply() {
    auto const wanted = state_ == State::awaiting_greeting ? greeting_bytes : verdict_bytes;
    auto const progress = read_up_to(socket_, received_, wanted);
    if (received_.size() < wanted) return progress;
    if (state_ == State::awaiting_greeting) return answer_greeting();
    state_ = State::open;
    bool const is_accepted = check_verdict(key_, server_nonce_, answer_, received_) == Admission::accepted;
    return is_accepted ? Progress::something : Progress::broken;
}

Progress OutgoingConnection::answer_greeting() {
    auto const nonce = parse_greeting(received_);
    received_.clear();
    if (!nonce) return Progress::broken;
    server_nonce_ = *nonce;
    answer_ = render_answer(key_, self_, server_nonce_, make_nonce());
    unsent_ = answer_;
    state_ = State::awaiting_verdict;
    return Progress::something;
}

IncomingConnection::IncomingConnection(UniqueFd socket, TimePoint answer_until)
    : socket_(std::move(socket)),
      answer_until_(answer_until),
      nonce_(make_nonce()),
      unsent_(render_greeting(nonce_)) {}

short IncomingConnection::events() const {
    return static_cast<short>(unsent_.empty() && writer_.is_idle() ? POLLIN : POLLIN | POLLOUT);
}

Progress IncomingConnection::advance(SessionKey const& key, std::function<bool(Rank)> const& may_join,
                                     Match const& match) {
    if (!unsent_.empty()) return write_from(socket_, unsent_);
    if (!peer_) return read_answer(key, may_join);
    auto const from_peer = [&](MessageHead const& head) { return match(*peer_, head); };
    return both(writer_.advance(socket_), reader_.advance(socket_, from_peer));
}

Progress IncomingConnection::read_answer(SessionKey const& key, std::function<bool(Rank)> const& may_join) {
    auto const progress = read_up_to(socket_, received_, answer_bytes);
    if (received_.size() < answer_bytes) return progress;
    auto const rank = check_answer(key, nonce_, received_);
    if (!rank || !may_join(*rank)) return Progress::broken;
    peer_ = rank;
    unsent_ = render_verdict(key, Admission::accepted, nonce_, received_);
    return Progress::something;
}

}  // namespace det::transport::tcp
