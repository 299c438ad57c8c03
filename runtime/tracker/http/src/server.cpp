#include <det/foundation/start_thread.hpp>
#include <det/foundation/thread_pool.hpp>
#include <det/liveness/acceptor.hpp>
#include <det/tracker/http/server.hpp>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <sys/socket.h>

#include "connection.hpp"
#include "listen.hpp"

namespace det::tracker::http {
namespace server {

namespace asio = boost::asio;
using SteadyClock = std::chrono::steady_clock;

/// The event loop. A Responder has a weak pointer to it, which is empty once the server has stopped.
struct Loop {
    asio::io_context io{1};
};

/// Carries a response from any thread to its connection.
class ConnectionSink final : public Responder::Sink {
public:
    ConnectionSink(std::weak_ptr<Loop> loop, std::weak_ptr<Connection> connection,
                   std::uint64_t request_number, std::shared_ptr<std::atomic<bool>> is_gone)
        : loop_(std::move(loop)),
          connection_(std::move(connection)),
          request_number_(request_number),
          is_gone_(std::move(is_gone)) {}
    ~ConnectionSink() override {
        if (!is_answered_ && !has_deadline_)
            respond(error_response(Error{codes::internal, "no part of the server answered this request"}));
    }

    void respond(Response response) override {
        if (is_answered_.exchange(true)) return;
        post([number = request_number_, response = std::move(response)](Connection& connection) mutable {
            connection.respond(number, std::move(response));
        });
    }
    void respond_at(SteadyClock::time_point deadline, Response response) override {
        has_deadline_ = true;
        post([number = request_number_, deadline,
              response = std::move(response)](Connection& connection) mutable {
            connection.respond_at(number, deadline, std::move(response));
        });
    }
    bool is_done() const override { return is_answered_ || *is_gone_; }

private:
    template <class Action>
    void post(Action action) {
        auto const loop = loop_.lock();
        if (!loop) return;
        asio::post(loop->io, [weak = connection_, action = std::move(action)]() mutable {
            if (auto const connection = weak.lock()) action(*connection);
        });
    }

    std::weak_ptr<Loop> loop_;
    std::weak_ptr<Connection> connection_;
    std::uint64_t request_number_;
    std::shared_ptr<std::atomic<bool>> is_gone_;
    std::atomic<bool> is_answered_ = false;
    std::atomic<bool> has_deadline_ = false;
};

Response call(Handler const& handler, Request const& request) {
    try {
        return handler(request);
    } catch (std::exception const& problem) {
        return error_response(Error{codes::internal, problem.what()});
    }
}

using ConnectionId = liveness::PendingConnections::Id;

}  // namespace server

using namespace server;

class Server::State {
public:
    State(ServerSettings settings, RouteTable routes)
        : settings_(std::move(settings)),
          routes_(std::move(routes)),
          workers_("det-http-work", static_cast<int>(settings_.workers)) {}
    State(State const&) = delete;
    State& operator=(State const&) = delete;
    ~State() { stop(); }

    void listen(UniqueFd socket, Peer::Kind kind) {
        listeners_.push_back(std::make_unique<Listener>(loop_->io, std::move(socket), kind));
        wait_for_connection(*listeners_.back());
    }
    void keep(SocketFile file) { socket_file_.emplace(std::move(file)); }
    void set_port(std::uint16_t port) { port_ = port; }
    void run() {
        thread_ = start_thread("det-http", [this](std::stop_token const&) { loop_->io.run(); });
    }

    std::uint16_t port() const { return port_; }
    std::optional<SteadyClock::time_point> idle_since() const {
        std::lock_guard const lock(use_mutex_);
        return requests_in_progress_ > 0 ? std::nullopt : std::optional(last_use_);
    }
    void stop() {
        if (!thread_.joinable()) return;
        workers_.stop();
        asio::post(loop_->io, [this] {
            for (auto const& [id, connection] : std::map(connections_)) connection->close();
            loop_->io.stop();
        });
        thread_.join();
        listeners_.clear();
        pending_timer_.reset();
        socket_file_.reset();
        loop_.reset();
    }

private:
    struct Listener {
        Listener(asio::io_context& io, UniqueFd fd, Peer::Kind peers)
            : socket(io, fd.release()), retry(io), kind(peers) {}
        asio::posix::stream_descriptor socket;
        asio::steady_timer retry;
        Peer::Kind kind;
    };

    void wait_for_connection(Listener& listener) {
        listener.socket.async_wait(asio::posix::stream_descriptor::wait_read,
                                   [this, &listener](boost::system::error_code problem) {
                                       if (!problem) accept_all(listener);
                                   });
    }

    void accept_later(Listener& listener, SteadyClock::time_point when) {
        listener.retry.expires_at(when);
        listener.retry.async_wait([this, &listener](boost::system::error_code problem) {
            if (!problem) accept_all(listener);
        });
    }

    void accept_all(Listener& listener) {
        for (;;) {
            auto const now = SteadyClock::now();
            if (listener.kind == Peer::Kind::tcp && !pending_.may_accept(now)) {
                constexpr std::chrono::milliseconds shortest_rest{1};
                return accept_later(listener, std::max(pending_.next_change(), now + shortest_rest));
            }
            UniqueFd fd(
                ::accept4(listener.socket.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
            if (fd) {
                serve(std::move(fd), listener.kind);
            } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
                return accept_later(listener, now + std::chrono::seconds(1));
            } else if (errno != ECONNABORTED && errno != EINTR) {
                return wait_for_connection(listener);
            }
        }
    }

    void serve(UniqueFd fd, Peer::Kind kind) {
        Peer peer{kind, {}};
        if (kind == Peer::Kind::unix_socket)
            peer.uid = settings_.peer_uid ? settings_.peer_uid(fd.get()) : peer_uid_of(fd.get());
        // Over TCP the owner is recognised by a request, over a unix socket now.
        bool const is_pending = peer.uid != settings_.access.owner;
        if (!is_pending && connections_.size() - pending_.size() >= settings_.limits.connections) {
            constexpr std::string_view refusal =
                "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
            (void)!::send(fd.get(), refusal.data(), refusal.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            return;
        }
        auto const id = next_id_++;
        if (is_pending) add_pending(id, fd, peer);
        ConnectionEvents events;
        events.on_request = [this, peer, id](auto const& connection, RawRequest request, std::uint64_t number,
                                             std::shared_ptr<std::atomic<bool>> is_gone) {
            answer(connection, std::move(request), peer, id, number, std::move(is_gone));
        };
        events.on_begin = [this] { count_request(); };
        events.on_end = [this, id] {
            pending_.restart_time(id, SteadyClock::now());
            count_response();
        };
        events.on_close = [this, id](auto const&) {
            pending_.remove_failed(id);
            connections_.erase(id);
        };
        auto const connection =
            std::make_shared<Connection>(loop_->io, std::move(fd), kind, settings_.limits, std::move(events));
        connections_[id] = connection;
        connection->start();
        if (is_pending) close_pending();
    }

    /// Connections that the owner's processes have made come before those of other users of this host.
    void add_pending(ConnectionId id, UniqueFd const& fd, Peer const& peer) {
        auto source = peer.uid ? liveness::PeerSource{fmt::format("user {}", *peer.uid)}
                               : liveness::source_of_connection(fd.get());
        pending_.add(id, std::move(source.source),
                     source.is_same_user ? liveness::PendingConnections::Origin::node
                                         : liveness::PendingConnections::Origin::stranger,
                     SteadyClock::now());
    }

    /// Closes the connections without a request of the owner that are too many or too old.
    void close_pending() {
        auto const close = [this](ConnectionId id) {
            auto const connection = connections_.at(id);
            connection->close();
        };
        auto const now = SteadyClock::now();
        while (auto const overdue = pending_.find_overdue(now)) close(*overdue);
        while (auto const excess = pending_.find_excess(now)) close(*excess);
        if (pending_.size() == 0) return;
        pending_timer_->expires_at(pending_.next_change());
        pending_timer_->async_wait([this](boost::system::error_code problem) {
            if (!problem) close_pending();
        });
    }

    void answer(std::shared_ptr<Connection> const& connection, RawRequest raw, Peer const& peer,
                ConnectionId id, std::uint64_t number, std::shared_ptr<std::atomic<bool>> is_gone) {
        if (is_owner(raw, peer, settings_.access)) pending_.remove_authenticated(id);
        auto decision = route_request(std::move(raw), peer, settings_.access, routes_);
        if (auto* refusal = std::get_if<Response>(&decision))
            return connection->respond(number, std::move(*refusal));
        auto& routed = std::get<RoutedRequest>(decision);
        Responder responder(std::make_shared<ConnectionSink>(loop_, connection, number, std::move(is_gone)));
        workers_.submit(
            [responder = std::move(responder), route = routed.route, request = std::move(routed.request)] {
                if (auto const* handler = std::get_if<Handler>(&route->handler))
                    return responder.respond(call(*handler, request));
                try {
                    std::get<DeferredHandler>(route->handler)(request, responder);
                } catch (std::exception const& problem) {
                    responder.respond(error_response(Error{codes::internal, problem.what()}));
                }
            });
    }

    void count_request() {
        std::lock_guard const lock(use_mutex_);
        ++requests_in_progress_;
    }
    void count_response() {
        std::lock_guard const lock(use_mutex_);
        --requests_in_progress_;
        last_use_ = SteadyClock::now();
    }

    ServerSettings const settings_;
    RouteTable const routes_;
    mutable std::mutex use_mutex_;
    std::size_t requests_in_progress_ = 0;
    SteadyClock::time_point last_use_ = SteadyClock::now();
    std::shared_ptr<Loop> loop_ = std::make_shared<Loop>();
    std::vector<std::unique_ptr<Listener>> listeners_;
    std::map<ConnectionId, std::shared_ptr<Connection>> connections_;
    ConnectionId next_id_ = 0;
    liveness::PendingConnections pending_{settings_.limits.pending, SteadyClock::now()};
    std::optional<asio::steady_timer> pending_timer_{loop_->io};
    std::optional<SocketFile> socket_file_;
    std::uint16_t port_ = 0;
    ThreadPool workers_;
    std::jthread thread_;
};

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::~Server() = default;
std::uint16_t Server::port() const { return state_->port(); }
std::optional<SteadyClock::time_point> Server::idle_since() const { return state_->idle_since(); }
void Server::stop() { state_->stop(); }

Result<std::unique_ptr<Server>> Server::start(ServerSettings settings, RouteTable routes) {
    std::optional<UnixListener> unix_listener;
    if (settings.unix_socket) {
        DET_TRY_ASSIGN(auto listener, listen_at_path(*settings.unix_socket));
        unix_listener.emplace(std::move(listener));
    }
    LoopbackListeners loopback;
    if (settings.port) {
        DET_TRY_ASSIGN(loopback, listen_at_loopback(*settings.port));
    }
    auto state = std::make_unique<State>(std::move(settings), std::move(routes));
    if (unix_listener) {
        state->listen(std::move(unix_listener->socket), Peer::Kind::unix_socket);
        state->keep(std::move(unix_listener->file));
    }
    for (auto& socket : loopback.sockets) state->listen(std::move(socket), Peer::Kind::tcp);
    state->set_port(loopback.port);
    state->run();
    return std::unique_ptr<Server>(new Server(std::move(state)));
}

}  // namespace det::tracker::http
