#include "tcp_session.hpp"

#include <det/foundation/uuid.hpp>

#include <algorithm>
#include <sched.h>
#include <sys/socket.h>
#include <utility>

namespace det::transport {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t strangers_max = 64;
constexpr std::chrono::seconds answer_time{30};  // a rank may compute for a while before it talks again
constexpr int spins_before_sleep = 2'000;
constexpr int yields_before_sleep =
    1000;  // a rank that shares our core may have what we wait for in microseconds
constexpr int turns_per_thorough_look = 16;
constexpr std::size_t answer_max_bytes = 4096;  // what shares a connection with what comes the other way
constexpr int longest_sleep_ms = 50;            // ranks may be lost that no socket tells of

/// Where all ranks listen, and the secret of the chief.
struct Places {
    std::string secret;
    std::vector<Endpoint> endpoints;
};

Result<Places> exchange_places(Bootstrap& bootstrap, Endpoint const& own) {
    Meeting const mine{bootstrap.rank().value == 0 ? make_uuid() + make_uuid() : "", own};
    DET_TRY_ASSIGN(auto const texts, bootstrap.allgather(render_meeting(mine)));
    Places places;
    for (auto const& text : texts) {
        DET_TRY_ASSIGN(auto const theirs, parse_meeting(text));
        if (!theirs.chief) return Error{codes::transport, "a rank has not said where it listens"};
        if (places.endpoints.empty()) places.secret = theirs.secret;
        places.endpoints.push_back(*theirs.chief);
    }
    return places;
}

}  // namespace

Result<std::unique_ptr<TcpSession>> TcpSession::open(std::unique_ptr<Bootstrap> bootstrap,
                                                     TcpOptions options) {
    DET_TRY_ASSIGN(auto listener, listen_at(options.address));
    DET_TRY_ASSIGN(auto const port, port_of(listener));
    DET_TRY_ASSIGN(auto places, exchange_places(*bootstrap, {options.address, port}));
    Club club{std::move(places.secret), "tcp", bootstrap->size()};
    return std::unique_ptr<TcpSession>(new TcpSession(std::move(bootstrap), std::move(listener),
                                                      std::move(club), std::move(places.endpoints),
                                                      std::move(options)));
}

TcpSession::TcpSession(std::unique_ptr<Bootstrap> bootstrap, UniqueFd listener, Club club,
                       std::vector<Endpoint> endpoints, TcpOptions options)
    : rank_(bootstrap->rank()),
      bootstrap_(std::move(bootstrap)),
      listener_(std::move(listener)),
      club_(std::move(club)),
      endpoints_(std::move(endpoints)),
      watch_(std::move(options.watch)),
      waits_(std::move(options.waits)),
      cores_(cores_for(options.local_ranks)),
      mailbox_(rank_, endpoints_.size(), options.early_limit_bytes),
      peers_(endpoints_.size()) {}

TcpSession::~TcpSession() {
    // What we sent last may still be on its way: nobody closes before everybody has all.
    if (is_open() && is_whole()) (void)bootstrap_->fence();
}

void TcpSession::abandon() noexcept {
    bootstrap_.reset();
    watch_.reset();
    outgoing_.clear();
    incoming_.clear();
    listener_.reset();
}

bool TcpSession::is_whole() const {
    return (!watch_ || watch_->check()) && std::ranges::none_of(peers_, &Peer::is_lost);
}

Status TcpSession::check_alive(Rank peer) const {
    if (!at(peer).is_lost) return Ok{};
    return describe_loss(watch_.get(), peer);
}

/// Small messages of the higher rank answer on the connection of the lower one, where acknowledgements then
/// travel along; large ones do better with a connection for each direction.
IncomingConnection* TcpSession::answering_connection(Rank to, std::size_t size_bytes) {
    if (to > rank_ || size_bytes > answer_max_bytes) return nullptr;
    auto const found =
        std::ranges::find_if(incoming_, [&](auto const& one) { return one.is_open() && one.peer() == to; });
    return found == incoming_.end() ? nullptr : &*found;
}

Result<OutgoingConnection*> TcpSession::call(Rank to) {
    auto known = outgoing_.find(to.value);
    if (known == outgoing_.end()) {
        DET_TRY_ASSIGN(auto connection, OutgoingConnection::begin(
                                            endpoints_[static_cast<std::size_t>(to.value)], club_, rank_));
        known = outgoing_.emplace(to.value, std::move(connection)).first;
    }
    return &known->second;
}

Result<std::shared_ptr<Departure>> TcpSession::send(Rank to, Tag tag, Bytes bytes) {
    auto departure = std::make_shared<Departure>(Departure{{tag.value, 0, bytes.size()}, bytes});
    if (to == rank_) {
        mailbox_.deliver_to_self(tag, bytes);
        departure->done = sizeof(MessageHead) + bytes.size();
        return departure;
    }
    DET_TRY(check_alive(to));
    auto const send_by = [&](auto& connection) {
        departure->head.number = at(to).sent++;
        connection.messages().add(departure);
        if (connection.write() == Progress::broken) lose(to);
    };
    if (auto* const answering = answering_connection(to, bytes.size())) {
        send_by(*answering);
    } else {
        DET_TRY_ASSIGN(auto* const calling, call(to));
        send_by(*calling);
    }
    return departure;
}

std::shared_ptr<Arrival> TcpSession::next_from(Rank from, MessageHead const& head) {
    if (head.number != at(from).begun) return nullptr;
    auto place = head.tag == taken_back_tag ? std::make_shared<Arrival>() : mailbox_.place_for(from, head);
    if (place != nullptr) ++at(from).begun;
    return place;
}

void TcpSession::take_back(Rank to, Departure const& departure) {
    if (departure.is_over()) return;
    has_taken_back_ = true;
    auto const gives_back = [&](auto& connection) {
        return connection.messages().take_back(departure) && departure.has_begun();
    };
    // Of what has begun half is on its way: nothing can follow it.
    auto const known = outgoing_.find(to.value);
    bool is_cut = known != outgoing_.end() && gives_back(known->second);
    if (is_cut) outgoing_.erase(known);
    is_cut |= std::erase_if(incoming_, [&](auto& one) { return one.peer() == to && gives_back(one); }) > 0;
    if (is_cut) lose(to);
}

bool TcpSession::owes(Rank peer) const {
    auto const known = outgoing_.find(peer.value);
    if (known != outgoing_.end() && known->second.messages().has_taken_back()) return true;
    return std::ranges::any_of(
        incoming_, [&](auto const& one) { return one.peer() == peer && one.messages().has_taken_back(); });
}

Status TcpSession::settle() {
    if (!std::exchange(has_taken_back_, false)) return Ok{};
    for (int peer = 0; peer < size(); ++peer) {
        if (owes({peer})) DET_TRY(wait({peer}, [&] { return !owes({peer}); }));
    }
    return Ok{};
}

bool TcpSession::progress() {
    bool const accepted = accept_newcomers();
    return advance_connections(Look::at_all, rank_) || accepted;
}

bool TcpSession::advance_connections(Look look, Rank peer) {
    bool const received = advance_incoming(look, peer);
    return advance_outgoing(look, peer) || received;
}

bool TcpSession::accept_newcomers() {
    auto const strangers = std::ranges::count_if(incoming_, [](auto const& one) { return !one.peer(); });
    if (strangers >= static_cast<std::ptrdiff_t>(strangers_max)) return false;
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) return false;
    tune(socket);
    acknowledge_late(socket);
    incoming_.emplace_back(std::move(socket), steady_clock::now() + answer_time);
    return true;
}

bool TcpSession::advance_incoming(Look look, Rank peer) {
    bool has_moved = false;
    auto const may_join = [&](Rank rank) {
        return std::ranges::none_of(incoming_, [&](auto const& one) { return one.peer() == rank; });
    };
    auto const place = [this](Rank from, MessageHead const& head) {
        auto arrival = next_from(from, head);
        if (arrival != nullptr) at(from).speaks_on_ours = false;
        return arrival;
    };
    auto const is_looked_at = [&](IncomingConnection& one) {
        if (look == Look::at_all || !one.messages().is_idle()) return true;
        return one.peer() == peer && (!at(peer).speaks_on_ours || one.is_held_up());
    };
    std::erase_if(incoming_, [&](IncomingConnection& connection) {
        if (!is_looked_at(connection)) return false;
        auto const progress = connection.advance(club_, may_join, place);
        has_moved = has_moved || progress == Progress::something;
        bool const is_stranger = !connection.peer();
        if (progress == Progress::broken && !is_stranger) lose(*connection.peer());
        return progress == Progress::broken ||
               (is_stranger && steady_clock::now() > connection.answer_until());
    });
    return has_moved;
}

bool TcpSession::advance_outgoing(Look look, Rank peer) {
    bool has_moved = false;
    for (auto i = outgoing_.begin(); i != outgoing_.end();) {
        auto& [number, connection] = *i;
        Rank const to{number};
        bool const speaks = to == peer && (at(peer).speaks_on_ours || connection.is_held_up());
        if (look == Look::at_peer && connection.is_idle() && !speaks) {
            ++i;
            continue;
        }
        auto const progress = connection.advance([this, to](MessageHead const& head) {
            auto arrival = next_from(to, head);
            if (arrival != nullptr) at(to).speaks_on_ours = true;
            return arrival;
        });
        has_moved = has_moved || progress == Progress::something;
        if (progress == Progress::broken) lose(to);
        i = progress == Progress::broken ? outgoing_.erase(i) : std::next(i);
    }
    return has_moved;
}

Status TcpSession::wait(Rank peer, std::function<bool()> const& is_over) {
    Patience patience(waits_, watch_.get(), rank_, peer);
    int spins_left = cores_ == Cores::own ? spins_before_sleep : 0;
    int yields_left = yields_before_sleep;
    for (int turn = 0; !is_over(); ++turn) {
        bool const is_thorough = turn % turns_per_thorough_look == 0;
        if (advance_connections(is_thorough ? Look::at_all : Look::at_peer, peer)) continue;
        if (is_thorough && accept_newcomers()) continue;
        DET_TRY(check_alive(peer));
        DET_TRY(patience.check());
        if (--spins_left >= 0) continue;
        if (--yields_left >= 0) {
            ::sched_yield();
        } else if (!progress()) {  // what is held up may go on, and of that no socket tells
            sleep_until_something();
            turn = -1;  // it may be anything
        }
    }
    return Ok{};
}

void TcpSession::sleep_until_something() {
    entries_.assign(1, {listener_.get(), POLLIN, 0});
    for (auto const& connection : incoming_) {
        // poll(2) passes over what is negative: what is held up waits for us, not for the network.
        entries_.push_back({connection.is_held_up() ? -1 : connection.fd(), connection.events(), 0});
    }
    for (auto const& [rank, connection] : outgoing_)
        entries_.push_back({connection.is_held_up() ? -1 : connection.fd(), connection.events(), 0});
    ::poll(entries_.data(), entries_.size(), longest_sleep_ms);
}

}  // namespace det::transport
