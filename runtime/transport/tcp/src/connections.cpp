#include "connections.hpp"

#include <det/foundation/polling.hpp>
#include <det/foundation/uuid.hpp>

#include <algorithm>
#include <utility>

namespace det::transport::tcp {
namespace {

using std::chrono::steady_clock;

constexpr int yields_before_sleep = 1000;
constexpr int turns_per_full_check = 16;
constexpr std::size_t answer_max_bytes = 4096;  // larger messages use a connection of their own direction
constexpr std::chrono::milliseconds max_sleep{50};

/// The endpoints at which the ranks listen, and the secret that the chief has generated.
struct SharedEndpoints {
    std::string secret;
    std::vector<Endpoint> endpoints;
};

Result<SharedEndpoints> exchange_endpoints(Bootstrap& bootstrap, Endpoint const& own) {
    RendezvousFile const mine{bootstrap.rank().value == 0 ? make_uuid() + make_uuid() : "", own};
    DET_TRY_ASSIGN(auto const texts, bootstrap.allgather(render_rendezvous_file(mine)));
    SharedEndpoints shared;
    for (auto const& text : texts) {
        DET_TRY_ASSIGN(auto const theirs, parse_rendezvous_file(text));
        if (!theirs.chief) return Error{codes::transport, "a rank has published no address"};
        if (shared.endpoints.empty()) shared.secret = theirs.secret;
        shared.endpoints.push_back(*theirs.chief);
    }
    return shared;
}

}  // namespace

Result<std::unique_ptr<Connections>> Connections::open(std::unique_ptr<Bootstrap> bootstrap,
                                                       Options options) {
    DET_TRY_ASSIGN(auto listener, listen_at(options.address));
    DET_TRY_ASSIGN(auto const port, port_of(listener));
    DET_TRY_ASSIGN(auto shared, exchange_endpoints(*bootstrap, {options.address, port}));
    SessionKey key{std::move(shared.secret), "tcp", bootstrap->size()};
    std::unique_ptr<Connections> connections(new Connections(
        std::move(bootstrap), std::move(key), std::move(shared.endpoints), std::move(options)));
    DET_TRY(connections->accept_from(std::move(listener)));
    return connections;
}

Status Connections::accept_from(UniqueFd listener) {
    auto const is_connected = [this](Rank rank) {
        return std::ranges::any_of(incoming_, [&](auto const& one) { return one.peer() == rank; });
    };
    DET_TRY_ASSIGN(auto acceptor, make_rank_acceptor(std::move(listener), key_, is_connected));
    for (auto const& endpoint : endpoints_) acceptor.add_node(endpoint.address);
    acceptor_.emplace(std::move(acceptor));
    return Ok{};
}

Connections::Connections(std::unique_ptr<Bootstrap> bootstrap, SessionKey key,
                         std::vector<Endpoint> endpoints, Options options)
    : rank_(bootstrap->rank()),
      bootstrap_(std::move(bootstrap)),
      key_(std::move(key)),
      endpoints_(std::move(endpoints)),
      monitor_(std::move(options.monitor)),
      waits_(std::move(options.waits)),
      cores_(liveness::cores_for(options.local_ranks)),
      mailbox_(rank_, endpoints_.size(), options.unexpected_limit_bytes),
      peers_(endpoints_.size()) {}

Connections::~Connections() {
    // Data that this rank sent may still be in transit: a rank closes its connections only when all ranks
    // have reached this point.
    if (is_open() && has_all_ranks()) (void)bootstrap_->fence();
}

void Connections::abandon() noexcept {
    bootstrap_.reset();
    if (monitor_) monitor_->abandon();
    monitor_.reset();
    outgoing_.clear();
    incoming_.clear();
    acceptor_.reset();
}

bool Connections::has_all_ranks() const {
    return (!monitor_ || monitor_->check()) && std::ranges::none_of(peers_, &Peer::is_lost);
}

Status Connections::check_alive(Rank peer) const {
    if (!at(peer).is_lost) return Ok{};
    return diagnose_lost_peer(monitor_.get(), peer);
}

/// Small messages to a lower rank use the connection that the lower rank made, so that acknowledgements
/// travel with the messages. Large messages are faster with a connection for each direction.
/// Without a connection of the lower rank, small messages use one of their own direction too.
IncomingConnection* Connections::incoming_for_reply(Rank to, std::size_t size_bytes) {
    if (to > rank_ || size_bytes > answer_max_bytes) return nullptr;
    auto const found = std::ranges::find_if(incoming_, [&](auto const& one) { return one.peer() == to; });
    return found == incoming_.end() ? nullptr : &*found;
}

Result<OutgoingConnection*> Connections::outgoing_to(Rank to) {
    auto known = outgoing_.find(to.value);
    if (known == outgoing_.end()) {
        DET_TRY_ASSIGN(auto connection, OutgoingConnection::begin(
                                            endpoints_[static_cast<std::size_t>(to.value)], key_, rank_));
        known = outgoing_.emplace(to.value, std::move(connection)).first;
    }
    return &known->second;
}

Result<std::shared_ptr<SendRequest>> Connections::send(Rank to, Tag tag, Bytes bytes) {
    auto request = std::make_shared<SendRequest>(SendRequest{{tag.value, 0, bytes.size()}, bytes});
    if (to == rank_) {
        mailbox_.send_to_self(tag, bytes);
        request->done = sizeof(MessageHead) + bytes.size();
        return request;
    }
    DET_TRY(check_alive(to));
    auto const send_by = [&](auto& connection) {
        request->head.number = at(to).sent++;
        connection.messages().add(request);
        if (connection.write() == Progress::broken) mark_lost(to);
    };
    if (auto* const incoming = incoming_for_reply(to, bytes.size())) {
        send_by(*incoming);
    } else {
        DET_TRY_ASSIGN(auto* const outgoing, outgoing_to(to));
        send_by(*outgoing);
    }
    return request;
}

std::shared_ptr<RecvRequest> Connections::match_next(Rank from, MessageHead const& head) {
    if (head.number != at(from).begun) return nullptr;
    auto request = head.tag == cancelled_tag ? std::make_shared<RecvRequest>() : mailbox_.match(from, head);
    if (request != nullptr) ++at(from).begun;
    return request;
}

void Connections::cancel(Rank to, SendRequest const& request) {
    if (request.is_over()) return;
    has_cancelled_ = true;
    auto const cuts_message = [&](auto& connection) {
        return connection.messages().cancel(request) && request.has_begun();
    };
    // No other message can follow a partly sent one on its connection, so that connection is closed.
    auto const known = outgoing_.find(to.value);
    bool is_interrupted = known != outgoing_.end() && cuts_message(known->second);
    if (is_interrupted) outgoing_.erase(known);
    is_interrupted |=
        std::erase_if(incoming_, [&](auto& one) { return one.peer() == to && cuts_message(one); }) > 0;
    if (is_interrupted) mark_lost(to);
}

bool Connections::has_cancelled_to(Rank peer) const {
    auto const known = outgoing_.find(peer.value);
    if (known != outgoing_.end() && known->second.messages().has_cancelled()) return true;
    return std::ranges::any_of(
        incoming_, [&](auto const& one) { return one.peer() == peer && one.messages().has_cancelled(); });
}

Status Connections::flush() {
    if (!std::exchange(has_cancelled_, false)) return Ok{};
    for (int peer = 0; peer < size(); ++peer) {
        if (has_cancelled_to({peer})) DET_TRY(wait({peer}, [&] { return !has_cancelled_to({peer}); }));
    }
    return Ok{};
}

bool Connections::progress() {
    bool const accepted = accept_connections();
    return advance_connections(Scope::all, rank_) || accepted;
}

bool Connections::advance_connections(Scope scope, Rank peer) {
    bool const received = advance_incoming(scope, peer);
    return advance_outgoing(scope, peer) || received;
}

bool Connections::accept_connections() {
    if (!acceptor_) return false;
    return acceptor_->advance([this](liveness::Acceptor::Admitted admitted) {
        set_options(admitted.socket);
        delay_acknowledgements(admitted.socket);
        incoming_.emplace_back(std::move(admitted.socket), Rank{admitted.peer});
    });
}

bool Connections::advance_incoming(Scope scope, Rank peer) {
    bool has_moved = false;
    auto const match = [this](Rank from, MessageHead const& head) {
        auto request = match_next(from, head);
        if (request != nullptr) at(from).uses_our_connection = false;
        return request;
    };
    auto const is_in_scope = [&](IncomingConnection& one) {
        if (scope == Scope::all || !one.messages().is_idle()) return true;
        return one.peer() == peer && (!at(peer).uses_our_connection || one.is_blocked());
    };
    std::erase_if(incoming_, [&](IncomingConnection& connection) {
        if (!is_in_scope(connection)) return false;
        auto const progress = connection.advance(match);
        has_moved = has_moved || progress == Progress::something;
        if (progress == Progress::broken) mark_lost(connection.peer());
        return progress == Progress::broken;
    });
    return has_moved;
}

bool Connections::advance_outgoing(Scope scope, Rank peer) {
    bool has_moved = false;
    for (auto i = outgoing_.begin(); i != outgoing_.end();) {
        auto& [number, connection] = *i;
        Rank const to{number};
        bool const is_used_by_peer = to == peer && (at(peer).uses_our_connection || connection.is_blocked());
        if (scope == Scope::peer_only && connection.is_idle() && !is_used_by_peer) {
            ++i;
            continue;
        }
        auto const progress = connection.advance([this, to](MessageHead const& head) {
            auto request = match_next(to, head);
            if (request != nullptr) at(to).uses_our_connection = true;
            return request;
        });
        has_moved = has_moved || progress == Progress::something;
        if (progress == Progress::broken) mark_lost(to);
        i = progress == Progress::broken ? outgoing_.erase(i) : std::next(i);
    }
    return has_moved;
}

Status Connections::wait(Rank peer, std::function<bool()> const& is_over) {
    PeerWait wait(waits_, monitor_.get(), rank_, peer);
    // Yields after each poll: a rank on the same core may send the awaited message within microseconds.
    liveness::Backoff backoff(cores_, {.polls = yields_before_sleep, .polls_per_yield = 1});
    for (int turn = 0; !is_over(); ++turn) {
        bool const checks_all = turn % turns_per_full_check == 0;
        if (advance_connections(checks_all ? Scope::all : Scope::peer_only, peer)) continue;
        if (checks_all && accept_connections()) continue;
        DET_TRY(check_alive(peer));
        DET_TRY(wait.check());
        if (backoff.spin() || !backoff.yield_or_sleep_time()) continue;
        // A blocked message may have become receivable, which no socket event reports.
        if (progress()) continue;
        sleep_until_event();
        turn = -1;  // so that the next turn checks all connections: any of them may have an event
    }
    return Ok{};
}

void Connections::sleep_until_event() {
    entries_.assign(1, {acceptor_ ? acceptor_->fd() : -1, POLLIN, 0});
    for (auto const& connection : incoming_) {
        // poll(2) ignores a negative descriptor. A blocked connection waits for a receive of this rank, not
        // for data from the network.
        entries_.push_back({connection.is_blocked() ? -1 : connection.fd(), connection.events(), 0});
    }
    for (auto const& [rank, connection] : outgoing_)
        entries_.push_back({connection.is_blocked() ? -1 : connection.fd(), connection.events(), 0});
    // No event reports what the monitor has detected, nor that a connection can be made again.
    auto until = steady_clock::now() + max_sleep;
    if (acceptor_) until = std::min(until, acceptor_->next_time());
    ::poll(entries_.data(), entries_.size(), poll_timeout_ms(until, steady_clock::now()));
}

}  // namespace det::transport::tcp
