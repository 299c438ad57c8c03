#include "connection.hpp"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <sys/socket.h>

namespace det::transport::tcp {
namespace {

using std::chrono::steady_clock;

constexpr int attempts_max = 600;  // at most a minute, because the pauses are 100 ms at last
constexpr std::chrono::milliseconds first_pause{2}, longest_pause{100};

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
    return OutgoingConnection(std::move(socket), peer, key, self);
}

short OutgoingConnection::events() const {
    bool const has_unsent = !unsent_.empty() || (state_ == State::open && !writer_.is_idle());
    return static_cast<short>(has_unsent ? POLLIN | POLLOUT : POLLIN);
}

Progress OutgoingConnection::write() {
    return state_ == State::open && unsent_.empty() ? writer_.advance(socket_) : Progress::nothing;
}

Progress OutgoingConnection::advance(MessageReader::Match const& match) {
    if (state_ != State::open) return advance_handshake();
    return both(writer_.advance(socket_), reader_.advance(socket_, match));
}

Progress OutgoingConnection::advance_handshake() {
    if (state_ == State::closed) return reconnect();
    errno = 0;
    auto const progress = unsent_.empty() ? read_reply() : write_from(socket_, unsent_);
    // A peer that has ended refuses the next attempt. Other errors will not go away.
    bool const was_closed = errno == 0 || errno == ECONNRESET || errno == EPIPE;
    bool const has_verdict = state_ == State::open;
    return progress == Progress::broken && was_closed && !has_verdict ? begin_again() : progress;
}

Progress OutgoingConnection::begin_again() {
    if (attempts_ == attempts_max) return Progress::broken;
    auto const pause = attempts_ < 6 ? first_pause * (1 << attempts_) : longest_pause;
    reconnect_at_ = steady_clock::now() + std::min(pause, longest_pause);
    ++attempts_;
    state_ = State::closed;
    socket_.reset();
    received_.clear();
    unsent_.clear();
    return Progress::nothing;
}

Progress OutgoingConnection::reconnect() {
    if (steady_clock::now() < reconnect_at_) return Progress::nothing;
    auto socket = start_connecting(peer_);
    if (!socket) return Progress::broken;
    socket_ = *std::move(socket);
    delay_acknowledgements(socket_);
    state_ = State::awaiting_greeting;
    return Progress::something;
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

short IncomingConnection::events() const {
    return static_cast<short>(writer_.is_idle() ? POLLIN : POLLIN | POLLOUT);
}

Progress IncomingConnection::advance(Match const& match) {
    auto const from_peer = [&](MessageHead const& head) { return match(peer_, head); };
    return both(writer_.advance(socket_), reader_.advance(socket_, from_peer));
}

}  // namespace det::transport::tcp
