#include <det/foundation/socket_owner.hpp>
#include <det/liveness/acceptor.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace det::liveness {
namespace {

constexpr std::size_t events_at_once = 64;
constexpr std::size_t answer_max_bytes = 1024;

std::string text_of(int family, void const* address) {
    char text[INET6_ADDRSTRLEN] = "";
    ::inet_ntop(family, address, text, sizeof text);
    return text;
}

PeerSource source_of_ipv4(in_addr address) {
    auto text = text_of(AF_INET, &address);
    bool const is_loopback = (ntohl(address.s_addr) >> 24) == 127;
    return {is_loopback ? "127.0.0.0/8" : text, text};
}

bool watch(int epoll, int operation, int fd, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    return ::epoll_ctl(epoll, operation, fd, &event) == 0;
}

/// The text of an address as source_of_address() writes it: ::ffff:10.0.0.1 is 10.0.0.1.
std::string normal_address(std::string const& address) {
    in6_addr six{};
    if (::inet_pton(AF_INET6, address.c_str(), &six) != 1) return address;
    return IN6_IS_ADDR_V4MAPPED(&six) ? text_of(AF_INET, &six.s6_addr[12]) : text_of(AF_INET6, &six);
}

}  // namespace

PeerSource source_of_address(sockaddr_storage const& address) {
    if (address.ss_family == AF_INET)
        return source_of_ipv4(reinterpret_cast<sockaddr_in const&>(address).sin_addr);
    if (address.ss_family != AF_INET6) return {"unknown"};
    auto const& six = reinterpret_cast<sockaddr_in6 const&>(address).sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&six)) {
        in_addr four{};
        std::memcpy(&four, &six.s6_addr[12], sizeof four);
        return source_of_ipv4(four);
    }
    auto network = six;
    std::memset(&network.s6_addr[8], 0, 8);
    bool const is_loopback = IN6_IS_ADDR_LOOPBACK(&six);
    return {is_loopback ? "::1" : text_of(AF_INET6, &network) + "/64", text_of(AF_INET6, &six)};
}

PeerSource source_of_connection(int connection) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getpeername(connection, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {"unknown"};
    auto source = source_of_address(address);
    if (auto const user = find_owner_of_peer(connection)) {
        source.source = fmt::format("user {}", *user);
        source.is_same_user = *user == ::geteuid();
        source.is_other_user = !source.is_same_user;
    }
    return source;
}

Result<Acceptor> Acceptor::make(UniqueFd listener, Handshake handshake, PendingLimits const& limits) {
    UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll || !watch(epoll.get(), EPOLL_CTL_ADD, listener.get(), EPOLLIN))
        return os_error("watch a socket", errno);
    return Acceptor(std::move(listener), std::move(epoll), std::move(handshake), limits);
}

Acceptor::Acceptor(UniqueFd listener, UniqueFd epoll, Handshake handshake, PendingLimits const& limits)
    : listener_(std::move(listener)),
      epoll_(std::move(epoll)),
      handshake_(std::move(handshake)),
      pending_(limits, std::chrono::steady_clock::now()) {}

void Acceptor::add_node(std::string const& address) { nodes_.insert(normal_address(address)); }

bool Acceptor::advance(std::function<void(Admitted)> const& on_admitted, TimePoint now) {
    bool has_moved = false;
    std::array<epoll_event, events_at_once> events;
    for (int count = events_at_once; count == static_cast<int>(events.size());) {
        count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
        bool accepts = false;
        for (int i = 0; i < count; ++i) {
            int const fd = events[static_cast<std::size_t>(i)].data.fd;
            if (fd == listener_.get())
                accepts = true;
            else
                read_answer(fd, on_admitted);
        }
        if (accepts) accept_connections(now);
        has_moved = has_moved || count > 0;
    }
    if (is_listener_watched_ && now < pending_.next_change()) return has_moved;
    while (auto const overdue = pending_.find_overdue(now)) close(static_cast<int>(*overdue));
    close_excess(now);
    watch_listener(pending_.may_accept(now));
    return has_moved;
}

void Acceptor::close_excess(TimePoint now) {
    while (auto const excess = pending_.find_excess(now)) close(static_cast<int>(*excess));
}

void Acceptor::accept_connections(TimePoint now) {
    while (pending_.may_accept(now)) {
        UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (socket) {
            add_connection(std::move(socket), now);
            close_excess(now);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            pending_.rest(now);
        } else {
            return;
        }
    }
    watch_listener(false);
}

void Acceptor::add_connection(UniqueFd socket, TimePoint now) {
    int const fd = socket.get();
    auto peer = source_of_connection(fd);
    bool const is_node = !peer.is_other_user && nodes_.contains(peer.address);
    pending_.add(static_cast<PendingConnections::Id>(fd), std::move(peer.source),
                 is_node ? PendingConnections::Origin::node : PendingConnections::Origin::stranger, now);
    auto greeting = handshake_.make_greeting();
    // The buffer of a new connection is empty: a greeting that does not fit is an error.
    auto const sent = ::send(fd, greeting.data(), greeting.size(), MSG_NOSIGNAL);
    bool const is_sent = sent == static_cast<ssize_t>(greeting.size());
    connections_[fd] = {std::move(socket), std::move(greeting), {}, std::move(peer.address)};
    if (!is_sent || !watch(epoll_.get(), EPOLL_CTL_ADD, fd, EPOLLIN)) close(fd);
}

void Acceptor::read_answer(int fd, std::function<void(Admitted)> const& on_admitted) {
    auto& connection = connections_.at(fd);
    char bytes[answer_max_bytes];
    auto const wanted = std::min(sizeof bytes, handshake_.answer_bytes - connection.answer.size());
    auto const received = ::recv(fd, bytes, wanted, 0);
    if (received < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (received <= 0) return close(fd);
    connection.answer.append(bytes, static_cast<std::size_t>(received));
    if (connection.answer.size() < handshake_.answer_bytes) return;
    auto const verdict = handshake_.check(connection.greeting, connection.answer);
    auto const& reply = verdict.reply;
    bool const is_sent =
        ::send(fd, reply.data(), reply.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(reply.size());
    if (!verdict.peer || !is_sent) return close(fd);
    pending_.remove_authenticated(static_cast<PendingConnections::Id>(fd));
    nodes_.insert(connection.address);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    Admitted admitted{std::move(connection.socket), *verdict.peer};
    connections_.erase(fd);
    on_admitted(std::move(admitted));
}

void Acceptor::close(int fd) {
    pending_.remove_failed(static_cast<PendingConnections::Id>(fd));
    connections_.erase(fd);  // epoll(7) forgets a descriptor that is closed
}

void Acceptor::watch_listener(bool is_wanted) {
    if (is_listener_watched_ == is_wanted) return;
    if (watch(epoll_.get(), EPOLL_CTL_MOD, listener_.get(), is_wanted ? EPOLLIN : 0u))
        is_listener_watched_ = is_wanted;
}

}  // namespace det::liveness
