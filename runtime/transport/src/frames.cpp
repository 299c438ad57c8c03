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
    DET_TRY(authenticate(socket, server, key, rank, deadline, greeting_until));
    return FrameClient(std::move(socket));
}

Result<FrameClient> FrameClient::join_until(Endpoint const& server, SessionKey const& key, Rank rank,
                                            TimePoint deadline) {
    constexpr std::chrono::milliseconds first_pause{5}, longest_pause{100};
    for (auto pause = first_pause;; pause = std::min(2 * pause, longest_pause)) {
        auto client = join(server, key, rank, deadline);
        bool const was_closed = !client && client.error().code == codes::transport;
        if (!was_closed || steady_clock::now() + pause >= deadline) return client;
        std::this_thread::sleep_for(pause);
    }
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

Result<std::unique_ptr<FrameServer>> FrameServer::start(
    std::string const& address, SessionKey key, std::size_t frame_limit_bytes,
    std::unique_ptr<FrameHandler> handler, std::optional<liveness::PendingLimits> const& limits) {
    DET_TRY_ASSIGN(auto listener, listen_at(address));
    DET_TRY_ASSIGN(auto const port, port_of(listener));
    UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake) return os_error("make an eventfd", errno);
    std::unique_ptr<FrameServer> server(
        new FrameServer(std::move(wake), {address, port}, frame_limit_bytes, std::move(handler)));
    auto const is_connected = [&serving = *server](Rank rank) {
        return serving.members_.contains(rank.value) && !serving.handler_->is_replaceable(rank);
    };
    DET_TRY_ASSIGN(auto acceptor, make_rank_acceptor(std::move(listener), key, is_connected, limits));
    server->acceptor_.emplace(std::move(acceptor));
    auto const name = ("det-" + key.purpose).substr(0, 15);
    server->thread_ = start_thread(name.c_str(), [&serving = *server](auto const&) { serving.serve(); });
    return server;
}

FrameServer::FrameServer(UniqueFd wake, Endpoint endpoint, std::size_t frame_limit_bytes,
                         std::unique_ptr<FrameHandler> handler)
    : wake_(std::move(wake)),
      endpoint_(std::move(endpoint)),
      frame_limit_bytes_(frame_limit_bytes),
      handler_(std::move(handler)),
      post_([this](Rank to, std::string const& frame) { post(to, frame); }) {}

FrameServer::~FrameServer() {
    is_ending_ = true;
    std::uint64_t const one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
    if (thread_.joinable()) thread_.join();
}

void FrameServer::add_nodes(std::vector<std::string> addresses) {
    std::lock_guard const lock(nodes_mutex_);
    std::ranges::move(addresses, std::back_inserter(new_nodes_));
}

void FrameServer::tick_now() {
    must_tick_ = true;
    std::uint64_t const one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
}

void FrameServer::take_wake() {
    std::uint64_t count = 0;
    (void)!::read(wake_.get(), &count, sizeof count);
}

void FrameServer::serve() {
    auto next_tick = steady_clock::now();
    while (!is_ending_) {
        poll_once(next_tick);
        auto const now = steady_clock::now();
        if (must_tick_.exchange(false) || now >= next_tick) {
            handler_->on_tick(now, post_);
            next_tick = now + handler_->tick();
        }
        close_ended();
    }
    // Sends the frames that are still queued for members.
    for (auto& [fd, connection] : connections_) {
        auto const until = steady_clock::now() + std::chrono::milliseconds(drain_ms);
        (void)send_all(connection.socket, connection.outgoing, until);
    }
}

void FrameServer::poll_once(TimePoint until) {
    std::vector<pollfd> entries{{wake_.get(), POLLIN, 0}, {acceptor_->fd(), POLLIN, 0}};
    for (auto const& [fd, connection] : connections_) {
        entries.push_back(
            {fd, static_cast<short>(connection.outgoing.empty() ? POLLIN : POLLIN | POLLOUT), 0});
    }
    auto const wait_until = std::min(until, acceptor_->next_time());
    auto const timeout_ms = poll_timeout_ms(wait_until, steady_clock::now());
    int const ready = ::poll(entries.data(), entries.size(), timeout_ms);
    if (ready > 0 && entries[0].revents != 0) take_wake();
    for (std::size_t i = 2; ready > 0 && i < entries.size(); ++i) {
        auto& connection = connections_.at(entries[i].fd);
        if ((entries[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0) read_from(connection);
        if ((entries[i].revents & POLLOUT) != 0) write_to(connection);
    }
    {
        std::lock_guard const lock(nodes_mutex_);
        for (auto const& address : new_nodes_) acceptor_->add_node(address);
        new_nodes_.clear();
    }
    close_ended();  // a rank whose connection has ended may connect again
    acceptor_->advance([this](auto admitted) { admit(std::move(admitted)); });
}

void FrameServer::admit(liveness::Acceptor::Admitted admitted) {
    set_options(admitted.socket);
    int const fd = admitted.socket.get();
    Rank const rank{admitted.peer};
    if (auto const replaced = members_.find(rank.value); replaced != members_.end())
        replaced->second->is_over = true;
    auto& connection = connections_[fd];
    connection = {std::move(admitted.socket), rank, {}, {}};
    members_[rank.value] = &connection;
    handler_->on_joined(rank, post_);
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
    take_frames(connection);
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
            handler_->on_frame(connection.member, rest.substr(frame_head_bytes, size), post_);
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
    if (connection.outgoing.size() > handler_->outgoing_max_bytes()) connection.is_over = true;
}

void FrameServer::close_ended() {
    for (auto i = connections_.begin(); i != connections_.end();) {
        if (!i->second.is_over) {
            ++i;
            continue;
        }
        auto const member = i->second.member;
        auto const current = members_.find(member.value);
        bool const is_replaced = current != members_.end() && current->second != &i->second;
        i = connections_.erase(i);
        if (is_replaced) continue;
        members_.erase(member.value);
        handler_->on_left(member, post_);
    }
}

}  // namespace det::transport
