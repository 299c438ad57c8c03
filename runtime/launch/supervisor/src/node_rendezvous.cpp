#include <det/foundation/polling.hpp>
#include <det/launch/supervisor/node_probes.hpp>
#include <det/launch/supervisor/node_rendezvous.hpp>

#include <algorithm>
#include <poll.h>

namespace det::launch::supervisor {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int between_handshakes_ms = 20;

transport::SessionKey key_of(NodeRendezvous const& rendezvous) {
    return {rendezvous.secret, rendezvous.purpose, static_cast<int>(rendezvous.hosts.size())};
}

}  // namespace

std::optional<NodeListener> NodeListener::open(NodeRendezvous const& rendezvous) {
    auto listener = listen_on(rendezvous.port);
    if (!listener) return std::nullopt;
    // A node connects again if its first connection has failed.
    auto acceptor =
        transport::make_rank_acceptor(std::move(listener), key_of(rendezvous), [](Rank) { return false; });
    if (!acceptor) return std::nullopt;
    for (auto const& host : rendezvous.hosts) {
        for (auto const& address : addresses_of(host)) acceptor->add_node(address);
    }
    return NodeListener(*std::move(acceptor));
}

UniqueFd NodeListener::accept_node(TimePoint deadline) {
    for (;;) {
        acceptor_.advance([this](auto admitted) { admitted_.push_back(std::move(admitted.socket)); });
        if (!admitted_.empty()) {
            auto first = std::move(admitted_.front());
            admitted_.erase(admitted_.begin());
            return first;
        }
        auto const now = SteadyClock::now();
        if (now >= deadline) return {};
        pollfd entry{acceptor_.fd(), POLLIN, 0};
        ::poll(&entry, 1, poll_timeout_ms(std::min(deadline, acceptor_.next_time()), now));
    }
}

UniqueFd connect_to_node(NodeRendezvous const& rendezvous, std::uint32_t host,
                         NodeListener::TimePoint deadline) {
    while (SteadyClock::now() < deadline) {
        auto socket = connect_until(rendezvous.hosts[host], rendezvous.port, deadline);
        if (!socket) return {};
        Rank const self{static_cast<std::int32_t>(rendezvous.own_index)};
        auto const proven = transport::authenticate(socket, {rendezvous.hosts[host], rendezvous.port},
                                                    key_of(rendezvous), self, deadline, deadline);
        if (proven) return socket;
        ::poll(nullptr, 0, between_handshakes_ms);
    }
    return {};
}

}  // namespace det::launch::supervisor
