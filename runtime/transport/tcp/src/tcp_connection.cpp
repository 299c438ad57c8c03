#include "tcp_connection.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

namespace det::transport {
namespace {

/// What a call that never blocks came to.
Progress progress_of(ssize_t result) {
    if (result > 0) return Progress::something;
    if (result == 0) return Progress::broken;
    return errno == EAGAIN || errno == EINTR || errno == EINPROGRESS || errno == ENOTCONN ? Progress::nothing
                                                                                          : Progress::broken;
}

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

void Arrival::begin(std::uint64_t message_size) {
    size = message_size;
    has_size = true;
    if (size > into.size()) own.resize(size);
}

Result<OutgoingConnection> OutgoingConnection::begin(Endpoint const& peer, Club const& club, Rank self) {
    DET_TRY_ASSIGN(auto socket, start_connecting(peer));
    return OutgoingConnection(std::move(socket), club, self);
}

short OutgoingConnection::events() const {
    bool const has_to_say = !to_say_.empty() || (state_ == State::open && !departures_.empty());
    return static_cast<short>(has_to_say ? POLLIN | POLLOUT : POLLIN);
}

bool OutgoingConnection::take_back(Departure const& departure) {
    if (departure.is_over()) return true;
    if (departure.has_begun()) return false;
    std::erase_if(departures_, [&](auto const& waiting) { return waiting.get() == &departure; });
    return true;
}

Progress OutgoingConnection::advance() {
    if (!to_say_.empty()) return write_from(socket_, to_say_);
    if (state_ != State::open) return read_reply();
    return departures_.empty() ? read_reply() : write_departures();
}

Progress OutgoingConnection::read_reply() {
    if (state_ == State::open) {
        char byte = 0;  // a peer says nothing on this connection: it only hangs up
        return progress_of(::recv(socket_.get(), &byte, 1, 0));
    }
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

Progress OutgoingConnection::write_departures() {
    auto& departure = *departures_.front();
    auto const head_left = sizeof departure.head - std::min(departure.done, sizeof departure.head);
    auto const bytes_done = departure.done - (sizeof departure.head - head_left);
    auto* const head = reinterpret_cast<std::byte*>(&departure.head) + (sizeof departure.head - head_left);
    iovec parts[] = {
        {head, head_left},
        {const_cast<std::byte*>(departure.bytes.data()) + bytes_done, departure.bytes.size() - bytes_done}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    auto const sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (sent > 0) departure.done += static_cast<std::size_t>(sent);
    if (departure.is_over()) departures_.pop_front();
    return progress_of(sent);
}

IncomingConnection::IncomingConnection(UniqueFd socket, Moment answer_until)
    : socket_(std::move(socket)),
      answer_until_(answer_until),
      nonce_(make_nonce()),
      to_say_(render_greeting(nonce_)) {}

short IncomingConnection::events() const {
    return static_cast<short>(to_say_.empty() ? POLLIN : POLLIN | POLLOUT);
}

Progress IncomingConnection::advance(Club const& club, std::function<bool(Rank)> const& may_join,
                                     Place const& place) {
    if (!to_say_.empty()) return write_from(socket_, to_say_);
    return peer_ ? read_messages(place) : read_answer(club, may_join);
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

Progress IncomingConnection::read_messages(Place const& place) {
    if (!arrival_) {
        if (!is_held_up()) {
            auto* const head = reinterpret_cast<std::byte*>(&head_);
            auto const received = ::recv(socket_.get(), head + head_done_, sizeof head_ - head_done_, 0);
            if (received > 0) head_done_ += static_cast<std::size_t>(received);
            if (!is_held_up()) return progress_of(received);
        }
        arrival_ = place(*peer_, head_);
        if (!arrival_) return Progress::nothing;
        head_done_ = 0;
        arrival_->begin(head_.size);
    }
    if (arrival_->done < arrival_->size) {
        auto const received =
            ::recv(socket_.get(), arrival_->place() + arrival_->done, arrival_->size - arrival_->done, 0);
        if (received > 0) arrival_->done += static_cast<std::uint64_t>(received);
        // Its head has come: that is something, even where nothing of the rest has.
        if (received <= 0) return progress_of(received);
    }
    if (arrival_->is_over()) arrival_.reset();
    return Progress::something;
}

}  // namespace det::transport
