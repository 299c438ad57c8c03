// Socket diagnostics of the kernel: sock_diag(7).
#include <det/foundation/files.hpp>
#include <det/foundation/socket_owner.hpp>

#include <cstring>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace det {
namespace {

constexpr int tcp_established =
    1;  // TCP_ESTABLISHED of <netinet/tcp.h>, which differs from the kernel's header in other names

struct Query {
    nlmsghdr head;
    inet_diag_req_v2 request;
};

struct Ends {
    sockaddr_storage own{}, peer{};
};

std::optional<Ends> ends_of(int connection) {
    Ends ends;
    socklen_t own_size = sizeof ends.own, peer_size = sizeof ends.peer;
    if (::getsockname(connection, reinterpret_cast<sockaddr*>(&ends.own), &own_size) != 0 ||
        ::getpeername(connection, reinterpret_cast<sockaddr*>(&ends.peer), &peer_size) != 0)
        return std::nullopt;
    return ends;
}

/// An address and port as the kernel's tables have them. A socket for IPv6 can have an IPv4 connection
/// (::ffff:1.2.3.4), whose other end is mostly a socket for IPv4.
struct Name {
    bool is_ipv4 = false;
    std::uint32_t words[4] = {};
    std::uint16_t port = 0;
};

Name name_of(sockaddr_storage const& address) {
    Name name;
    if (address.ss_family == AF_INET) {
        auto const& v4 = reinterpret_cast<sockaddr_in const&>(address);
        name = {true, {v4.sin_addr.s_addr}, v4.sin_port};
        return name;
    }
    auto const& v6 = reinterpret_cast<sockaddr_in6 const&>(address);
    name.port = v6.sin6_port;
    std::memcpy(name.words, &v6.sin6_addr, sizeof name.words);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
        name.is_ipv4 = true;
        name.words[0] = name.words[3];
    }
    return name;
}

Query render_query(Ends const& ends) {
    auto const peer = name_of(ends.peer), own = name_of(ends.own);
    Query query{};
    query.head.nlmsg_len = sizeof query;
    query.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    query.head.nlmsg_flags = NLM_F_REQUEST;
    query.request.sdiag_family = peer.is_ipv4 ? AF_INET : AF_INET6;
    query.request.sdiag_protocol = IPPROTO_TCP;
    query.request.idiag_states = ~0u;
    auto& id = query.request.id;
    std::memcpy(id.idiag_src, peer.words, sizeof id.idiag_src);
    std::memcpy(id.idiag_dst, own.words, sizeof id.idiag_dst);
    id.idiag_sport = peer.port;
    id.idiag_dport = own.port;
    id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    return query;
}

std::optional<uid_t> parse_reply(char const* bytes, std::size_t size) {
    nlmsghdr head;
    inet_diag_msg found;
    if (size < NLMSG_HDRLEN + sizeof found) return std::nullopt;
    std::memcpy(&head, bytes, sizeof head);
    if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;
    std::memcpy(&found, bytes + NLMSG_HDRLEN, sizeof found);
    // A socket that its process has closed belongs to root in the kernel's answer.
    bool const has_process = found.idiag_state == tcp_established && found.idiag_inode != 0;
    return has_process ? std::optional<uid_t>(found.idiag_uid) : std::nullopt;
}

}  // namespace

std::optional<uid_t> find_owner_of_peer(int connection) {
    auto const ends = ends_of(connection);
    if (!ends || (ends->own.ss_family != AF_INET && ends->own.ss_family != AF_INET6)) return std::nullopt;
    UniqueFd const diagnostics(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    auto const query = render_query(*ends);
    if (!diagnostics || ::send(diagnostics.get(), &query, sizeof query, 0) != sizeof query)
        return std::nullopt;
    alignas(nlmsghdr) char reply[1024];  // the kernel has answered when send() returns
    auto const size = ::recv(diagnostics.get(), reply, sizeof reply, MSG_DONTWAIT);
    return size > 0 ? parse_reply(reply, static_cast<std::size_t>(size)) : std::nullopt;
}

}  // namespace det
