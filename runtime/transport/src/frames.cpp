#include "frames.hpp"

#include <det/foundation/polling.hpp>
#include <det/foundation/start_thread.hpp>

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <vector>

namespace det::transport {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t unauthenticated_max = 64;
constexpr std::chrono::seconds answer_timeout{3};
constexpr std::size_t read_at_once_bytes = std::size_t{64} << 10;
constexpr std::size_t drain_ms = 500;

constexpr std::size_t frame_head_bytes = 4;

std::string wrap_frame(std::string_view frame) {
    std::string wrapped;
    append_value(wrapped, static_cast<std::uint32_t>(frame.size()));
    return wrapped += frame;
}

/// Reads the size of a frame from its first frame_head_bytes on the wire.
std::size_t frame_size(std::string_view head) { return read_value<std::uint32_t>(head, 0); }

}  // namespace

Result<FrameClient> FrameClient::join(Endpoint const& server, SessionKey const& key, Rank rank,
                                      TimePoint deadline, TimePoint greeting_deadline) {
    auto const greeting_until = std::min(deadline, greeting_deadline);
    DET_TRY_ASSIGN(auto socket, connect_to(server, greeting_until));
    DET_TRY_ASSIGN(auto const greeting, receive_exactly(socket, greeting_bytes, greeting_until));
    auto const server_nonce = parse_greeting(greeting);
    if (!server_nonce) {
        return Error{codes::transport, fmt::format("the server at {} port {} does not belong to a run",
                                                   server.address, server.port)};
    }
    auto const answer = render_answer(key, rank, *server_nonce, make_nonce());
    DET_TRY(send_all(socket, answer, deadline));
    DET_TRY_ASSIGN(auto const verdict, receive_exactly(socket, verdict_bytes, deadline));
    switch (check_verdict(key, *server_nonce, answer, verdict)) {
        case Admission::accepted:
            return FrameClient(std::move(socket));
        case Admission::taken:
            return Error{codes::name_taken, fmt::format("there is a rank {} already", rank.value),
                         "give each rank a number of its own (RANK)"};
        case Admission::wrong_proof:
            break;
    }
    return Error{
        codes::permission,
        fmt::format("rank {} of {} was rejected by the chief at {} port {}: the secret or the number "
                    "of ranks differs there",
                    rank.value, key.size, server.address, server.port)};
}

Status FrameClient::send(std::string_view frame, TimePoint deadline) {
    return send_all(socket_, wrap_frame(frame), deadline);
}

Result<std::string> FrameClient::receive(std::size_t limit_bytes, TimePoint deadline) {
    DET_TRY_ASSIGN(auto const head, receive_exactly(socket_, frame_head_bytes, deadline));
    auto const size = frame_size(head);
    if (size > limit_bytes) {
        return Error{codes::transport,
                     fmt::format("the chief announced {} bytes, more than {}", size, limit_bytes)};
    }
    return receive_exactly(socket_, size, deadline);
}

Result<std::unique_ptr<FrameServer>> FrameServer::start(std::string const& address, SessionKey key,
                                                        std::size_t frame_limit_bytes,
                                                        std::unique_ptr<FrameHandler> handler) {
    DET_TRY_ASSIGN(auto listener, listen_at(address));
    DET_TRY_ASSIGN(auto const port, port_of(listener));
    UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake) return os_error("make an eventfd", errno);
    return std::unique_ptr<FrameServer>(new FrameServer(std::move(listener), std::move(wake), {address, port},
                                                        std::move(key), frame_limit_bytes,
                                                        std::move(handler)));
}

FrameServer::FrameServer(UniqueFd listener, UniqueFd wake, Endpoint endpoint, SessionKey key,
                         std::size_t frame_limit_bytes, std::unique_ptr<FrameHandler> handler)
    : listener_(std::move(listener)),
      wake_(std::move(wake)),
      endpoint_(std::move(endpoint)),
      key_(std::move(key)),
      frame_limit_bytes_(frame_limit_bytes),
      handler_(std::move(handler)),
      post_([this](Rank to, std::string const& frame) { post(to, frame); }) {
    auto const name = ("det-" + key_.purpose).substr(0, 15);
    thread_ = start_thread(name.c_str(), [this](auto const&) { serve(); });
}

FrameServer::~FrameServer() {
    is_ending_ = true;
    std::uint64_t const one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
    thread_.join();
}

void FrameServer::serve() {
    auto next_tick = steady_clock::now();
    while (!is_ending_) {
        poll_once(next_tick);
        auto const now = steady_clock::now();
        if (now >= next_tick) {
            handler_->on_tick(now, post_);
            next_tick = now + std::chrono::milliseconds(tick_ms);
        }
        for (auto& [fd, connection] : connections_) {
            if (!connection.member && now >= connection.answer_until) connection.is_over = true;
        }
        close_ended();
    }
    // Sends the frames that are still queued for members.
    for (auto& [fd, connection] : connections_) {
        auto const until = steady_clock::now() + std::chrono::milliseconds(drain_ms);
        if (connection.member) (void)send_all(connection.socket, connection.outgoing, until);
    }
}

void FrameServer::poll_once(TimePoint until) {
    std::vector<pollfd> entries{{wake_.get(), POLLIN, 0}};
    entries.push_back({unauthenticated() < unauthenticated_max ? listener_.get() : -1, POLLIN, 0});
    for (auto const& [fd, connection] : connections_) {
        entries.push_back(
            {fd, static_cast<short>(connection.outgoing.empty() ? POLLIN : POLLIN | POLLOUT), 0});
    }
    if (::poll(entries.data(), entries.size(), poll_timeout_ms(until, steady_clock::now())) <= 0) return;
    for (std::size_t i = 2; i < entries.size(); ++i) {
        auto& connection = connections_.at(entries[i].fd);
        if ((entries[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0) read_from(connection);
        if ((entries[i].revents & POLLOUT) != 0) write_to(connection);
    }
    if (entries[1].revents != 0) accept_connections();
}

std::size_t FrameServer::unauthenticated() const { return connections_.size() - members_.size(); }

void FrameServer::accept_connections() {
    while (unauthenticated() < unauthenticated_max) {
        UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!socket) return;
        set_options(socket);
        int const fd = socket.get();
        auto nonce = make_nonce();
        auto greeting = render_greeting(nonce);
        auto& connection = connections_[fd];
        connection = {
            std::move(socket),  std::move(nonce), steady_clock::now() + answer_timeout, std::nullopt, {},
            std::move(greeting)};
        write_to(connection);
    }
}

void FrameServer::read_from(Connection& connection) {
    char bytes[read_at_once_bytes];
    auto const received = ::recv(connection.socket.get(), bytes, sizeof bytes, 0);
    if (received < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (received <= 0) {
        connection.is_over = true;
        return;
    }
    connection.incoming.append(bytes, static_cast<std::size_t>(received));
    if (!connection.member) take_answer(connection);
    if (connection.member) take_frames(connection);
}

void FrameServer::take_answer(Connection& connection) {
    if (connection.incoming.size() < answer_bytes) return;
    auto const answer = connection.incoming.substr(0, answer_bytes);
    connection.incoming.erase(0, answer_bytes);
    auto const rank = check_answer(key_, connection.nonce, answer);
    auto const admission = !rank                            ? Admission::wrong_proof
                           : members_.contains(rank->value) ? Admission::taken
                                                            : Admission::accepted;
    connection.outgoing += render_verdict(key_, admission, connection.nonce, answer);
    if (admission == Admission::accepted) {
        connection.member = rank;
        members_[rank->value] = &connection;
        handler_->on_joined(*rank, post_);
    }
    write_to(connection);
    connection.is_over = connection.is_over || !connection.member;
}

void FrameServer::take_frames(Connection& connection) {
    std::string_view rest = connection.incoming;
    while (!connection.is_over && rest.size() >= frame_head_bytes) {
        auto const size = frame_size(rest);
        if (size > frame_limit_bytes_) {
            connection.is_over = true;
            break;
        }
        if (rest.size() < frame_head_bytes + size) break;
        bool const is_valid =
            handler_->on_frame(*connection.member, rest.substr(frame_head_bytes, size), post_);
        connection.is_over = connection.is_over || !is_valid;
        rest.remove_prefix(frame_head_bytes + size);
    }
    connection.incoming.erase(0, connection.incoming.size() - rest.size());
}

void FrameServer::write_to(Connection& connection) {
    auto const sent =
        ::send(connection.socket.get(), connection.outgoing.data(), connection.outgoing.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
        connection.outgoing.erase(0, static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN && errno != EINTR) {
        connection.is_over = true;
    }
}

void FrameServer::post(Rank to, std::string const& frame) {
    auto const member = members_.find(to.value);
    if (member == members_.end()) return;
    auto& connection = *member->second;
    bool const was_empty = connection.outgoing.empty();
    connection.outgoing += wrap_frame(frame);
    if (was_empty) write_to(connection);
}

void FrameServer::close_ended() {
    for (auto i = connections_.begin(); i != connections_.end();) {
        if (!i->second.is_over) {
            ++i;
            continue;
        }
        auto const member = i->second.member;
        if (member) members_.erase(member->value);
        i = connections_.erase(i);
        if (member) handler_->on_left(*member, post_);
    }
}

}  // namespace det::transport
