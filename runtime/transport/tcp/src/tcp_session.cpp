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
    peers_.clear();
    newcomers_.clear();
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
    auto& peer = peers_[to.value];
    peer.wire.add(departure);
    if (peer.wire.is_open()) {
        (void)peer.wire.write();  // if it breaks, what has come on it is read first
    } else if (auto called = call(to, peer); !called) {
        peer.wire.take_back(*departure);
        return std::move(called).error();
    }
    return departure;
}

Status TcpSession::call(Rank to, Peer& peer) {
    if (peer.caller || peer.will_call) return Ok{};
    DET_TRY_ASSIGN(auto caller, Caller::begin(endpoints_[static_cast<std::size_t>(to.value)], club_, rank_));
    peer.caller.emplace(std::move(caller));
    return Ok{};
}

void TcpSession::lose(Rank peer) {
    lost_[static_cast<std::size_t>(peer.value)] = true;
    peers_[peer.value].wire.close();
    peers_[peer.value].caller.reset();
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
    auto const known = peers_.find(to.value);
    if (known == peers_.end() || known->second.wire.take_back(departure)) return;
    lose(to);  // half of a message is on its way: nothing can follow it
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
    return advance({}) || accepted;
}

bool TcpSession::accept_newcomers() {
    bool const has_moved = answer_newcomers();
    if (newcomers_.size() >= strangers_max) return has_moved;
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) return has_moved;
    tune(socket);
    newcomers_.emplace_back(std::move(socket), steady_clock::now() + answer_time);
    return true;
}

Admission TcpSession::judge(Rank caller) {
    auto const& peer = peers_[caller.value];
    // Where both have called, the call of the lower rank stays.
    bool const is_taken = peer.wire.is_open() || (peer.caller && rank_ < caller) ||
                          lost_[static_cast<std::size_t>(caller.value)];
    return is_taken ? Admission::taken : Admission::welcome;
}

bool TcpSession::answer_newcomers() {
    bool has_moved = false;
    std::erase_if(newcomers_, [&](Answerer& newcomer) {
        auto const progress = newcomer.advance(club_);
        has_moved = has_moved || progress == Progress::something;
        if (progress == Progress::broken) return true;
        if (!newcomer.peer()) return steady_clock::now() > newcomer.answer_until();
        auto const admission = judge(*newcomer.peer());
        auto verdict = newcomer.verdict(club_, admission);
        auto socket = newcomer.take_socket();
        if (admission == Admission::welcome) {
            auto& peer = peers_[newcomer.peer()->value];
            peer.caller.reset();
            peer.wire.open(std::move(socket), std::move(verdict));
        } else {
            // It fits: nothing else has been said for a while.
            (void)!::send(socket.get(), verdict.data(), verdict.size(), MSG_NOSIGNAL);
        }
        return true;
    });
    return has_moved;
}

Progress TcpSession::advance_call(Peer& peer) {
    auto const progress = peer.caller->advance();
    if (progress == Progress::broken || peer.caller->outcome() == Caller::Outcome::none_yet) return progress;
    if (peer.caller->outcome() == Caller::Outcome::welcome) {
        peer.wire.open(peer.caller->take_socket(), "");
    } else {
        peer.will_call = true;
    }
    peer.caller.reset();
    return Progress::something;
}

Progress TcpSession::advance_messages(Rank rank, Peer& peer, Look look) {
    auto const written = peer.wire.write();
    if (written != Progress::broken && !look.at(rank.value)) return written;
    // What has come is there, even where nothing more can be said.
    auto const read = peer.wire.read([&](MessageHead const& head) { return place_for(rank, head); });
    if (read == Progress::something || written == Progress::nothing) return read;
    return read == Progress::broken ? read : written;
}

bool TcpSession::advance(Look look) {
    bool has_moved = false;
    for (auto& [rank, peer] : peers_) {
        if (!look.at(rank) && !peer.wire.has_to_say() && !peer.caller) continue;
        auto const progress = peer.caller ? advance_call(peer) : advance_messages({rank}, peer, look);
        has_moved = has_moved || progress == Progress::something;
        if (progress == Progress::broken) lose({rank});
    }
    return has_moved;
}

Status TcpSession::wait(Rank peer, std::function<bool()> const& is_over) {
    Patience patience(waits_, watch_.get(), rank_, peer);
    int spins_left = cores_ == Cores::own ? spins_before_sleep : 0;
    int yields_left = yields_before_sleep;
    for (int turn = 0; !is_over(); ++turn) {
        bool const is_thorough = turn % turns_per_thorough_look == 0;
        if (advance(is_thorough ? Look{} : Look{peer})) continue;
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
    for (auto const& newcomer : newcomers_) entries_.push_back({newcomer.fd(), newcomer.events(), 0});
    for (auto const& [rank, peer] : peers_) {
        if (peer.caller) entries_.push_back({peer.caller->fd(), peer.caller->events(), 0});
        entries_.push_back({peer.wire.fd(), peer.wire.events(), 0});
    }
    ::poll(entries_.data(), entries_.size(), longest_sleep_ms);
}

}  // namespace det::transport
