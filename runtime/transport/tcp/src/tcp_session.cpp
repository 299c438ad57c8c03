#include "tcp_session.hpp"

#include <det/foundation/uuid.hpp>

#include <algorithm>
#include <cstring>
#include <sched.h>
#include <sys/socket.h>

namespace det::transport {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t strangers_max = 64;
constexpr std::chrono::seconds answer_time{30};  // a rank may compute for a while before it talks again
constexpr int spins_before_sleep = 2'000;
constexpr int yields_before_sleep =
    1000;  // a rank that shares our core may have what we wait for in microseconds
constexpr int turns_per_thorough_look = 16;
constexpr int longest_sleep_ms = 50;  // ranks may be lost that no socket tells of

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
      lost_(endpoints_.size()),
      early_limit_bytes_(options.early_limit_bytes),
      early_(endpoints_.size()) {}

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
    return (!watch_ || watch_->check()) && std::ranges::find(lost_, true) == lost_.end();
}

Status TcpSession::check_alive(Rank peer) const {
    if (!lost_[static_cast<std::size_t>(peer.value)]) return Ok{};
    return describe_loss(watch_.get(), peer);
}

Result<std::shared_ptr<Departure>> TcpSession::send(Rank to, Tag tag, Bytes bytes) {
    auto departure = std::make_shared<Departure>(Departure{{tag.value, 0, bytes.size()}, bytes});
    if (to == rank_) {
        deliver_to_self(tag, bytes);
        departure->done = sizeof(MessageHead) + bytes.size();
        return departure;
    }
    DET_TRY(check_alive(to));
    auto known = outgoing_.find(to.value);
    if (known == outgoing_.end()) {
        DET_TRY_ASSIGN(auto connection, OutgoingConnection::begin(
                                            endpoints_[static_cast<std::size_t>(to.value)], club_, rank_));
        known = outgoing_.emplace(to.value, std::move(connection)).first;
    }
    known->second.add(departure);
    if (known->second.advance() == Progress::broken) lose(to);
    return departure;
}

void TcpSession::deliver_to_self(Tag tag, Bytes bytes) {
    auto const arrival = place_for(rank_, {tag.value, 0, bytes.size()});
    arrival->begin(bytes.size());
    if (!bytes.empty()) std::memcpy(arrival->place(), bytes.data(), bytes.size());
    arrival->done = bytes.size();
}

bool TcpSession::may_keep(Rank from, std::uint64_t size) const {
    auto const& early = early_of(from);
    // What is waited for may lie behind it, and what we send to ourselves is kept nowhere else.
    return early.asked_for > 0 || from == rank_ || early.bytes + size <= early_limit_bytes_;
}

std::shared_ptr<Arrival> TcpSession::place_for(Rank from, MessageHead const& head) {
    LaneKey const key{from.value, head.tag};
    auto& early = early_of(from);
    auto const lane = lanes_.find(key);
    if (lane == lanes_.end() || lane->second.asked_for.empty()) {
        if (!may_keep(from, head.size)) return nullptr;
        early.bytes += head.size;
        return lanes_[key].unexpected.emplace_back(std::make_shared<Arrival>());
    }
    auto arrival = std::move(lane->second.asked_for.front());
    lane->second.asked_for.pop_front();
    --early.asked_for;
    if (lane->second.asked_for.empty()) lanes_.erase(lane);
    return arrival;
}

std::shared_ptr<Arrival> TcpSession::receive(Rank from, Tag tag, MutableBytes into) {
    auto& lane = lanes_[{from.value, tag.value}];
    if (lane.unexpected.empty()) {
        ++early_of(from).asked_for;
        return lane.asked_for.emplace_back(std::make_shared<Arrival>(Arrival{into}));
    }
    auto arrival = std::move(lane.unexpected.front());
    lane.unexpected.pop_front();
    early_of(from).bytes -= arrival->size;
    if (lane.unexpected.empty()) lanes_.erase({from.value, tag.value});
    return arrival;
}

void TcpSession::take_back(Rank to, Departure const& departure) {
    auto const known = outgoing_.find(to.value);
    if (known == outgoing_.end() || known->second.take_back(departure)) return;
    outgoing_.erase(known);  // half of a message is on its way: nothing can follow it
    lose(to);
}

void TcpSession::take_back(Rank from, Tag tag, std::shared_ptr<Arrival> const& arrival) {
    if (arrival->is_over()) return;
    if (arrival->has_size) {
        // The rest of it goes where it harms nobody.
        arrival->own.resize(arrival->size);
        arrival->into = {};
        return;
    }
    auto const lane = lanes_.find({from.value, tag.value});
    if (lane == lanes_.end()) return;
    early_of(from).asked_for -= static_cast<int>(std::erase(lane->second.asked_for, arrival));
    if (lane->second.asked_for.empty()) lanes_.erase(lane);
}

bool TcpSession::progress() {
    bool const accepted = accept_newcomers();
    bool const received = advance_incoming(std::nullopt);
    return advance_outgoing(Idle::looked_at) || received || accepted;
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

bool TcpSession::advance_incoming(std::optional<Rank> only) {
    bool has_moved = false;
    auto const may_join = [&](Rank rank) {
        return std::ranges::none_of(incoming_, [&](auto const& one) { return one.peer() == rank; });
    };
    auto const place = [this](Rank from, MessageHead const& head) { return place_for(from, head); };
    std::erase_if(incoming_, [&](IncomingConnection& connection) {
        if (only && connection.peer() != only) return false;
        auto const progress = connection.advance(club_, may_join, place);
        has_moved = has_moved || progress == Progress::something;
        bool const is_stranger = !connection.peer();
        if (progress == Progress::broken && !is_stranger) lose(*connection.peer());
        return progress == Progress::broken ||
               (is_stranger && steady_clock::now() > connection.answer_until());
    });
    return has_moved;
}

bool TcpSession::advance_outgoing(Idle idle) {
    bool has_moved = false;
    for (auto i = outgoing_.begin(); i != outgoing_.end();) {
        if (idle == Idle::passed_over && i->second.is_idle()) {
            ++i;
            continue;
        }
        auto const progress = i->second.advance();
        has_moved = has_moved || progress == Progress::something;
        if (progress == Progress::broken) lose({i->first});
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
        bool const received = advance_incoming(is_thorough ? std::nullopt : std::optional(peer));
        if (advance_outgoing(is_thorough ? Idle::looked_at : Idle::passed_over) || received) continue;
        if (is_thorough && accept_newcomers()) continue;
        DET_TRY(check_alive(peer));
        DET_TRY(patience.check());
        if (--spins_left >= 0) continue;
        if (--yields_left >= 0) {
            ::sched_yield();
        } else if (!accept_newcomers()) {
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
        entries_.push_back({connection.fd(), connection.events(), 0});
    ::poll(entries_.data(), entries_.size(), longest_sleep_ms);
}

}  // namespace det::transport
