// The thread of the server calls the functions of FrameHandler; the mutex protects what the others share with
// it.
//
// Each node connects to this process first, and says where it listens. If another node can be its parent, it
// is sent there, and heard by the beats of that one from then on. It comes back when that parent is lost to
// it, and is sent to another one.
//
// A node is examined while it is silent: this host and up to two other nodes try to connect to the port at
// which the node listens. An examination has a number, its round, so that a late report of an earlier one is
// not taken for that of the present one. It ends when all attempts have ended or their time is over, and the
// next one begins after a pause, as long as the node is not heard.
//
// When the connection of a node ends without a word, this host tries to connect once, at once: the refusal of
// a host that is up shows that the process was killed, and a fault of the network shows nothing of the kind.
#include "monitored_nodes.hpp"

#include <det/foundation/network_addresses.hpp>

#include <algorithm>
#include <bit>
#include <unistd.h>
#include <utility>

#include "reach_attempt.hpp"

namespace det::transport {
namespace {

using namespace std::chrono_literals;
using namespace node_messages;
using Node = NodeMonitor::Node;
using Presence = NodeMonitor::Presence;

constexpr std::chrono::milliseconds between_ticks(FrameHandler::tick_ms);
/// After an examination. After each that the host answered the pause is doubled: the kernel of a suspended
/// node keeps the connections until its queue is full, and then it answers no more; and that no process
/// listens is not news again.
constexpr std::chrono::milliseconds between_examinations = 1s, between_examinations_max = 60s;
constexpr auto report_limit = ReachAttempt::limit + 1s;  // of another node
/// A node whose connection has brought nothing for so long may replace it: it has lost it without this host
/// having noticed.
constexpr std::chrono::milliseconds replaceable_after = NodeMonitor::suspected_after;
/// A node whose parent is silent too probably lives and is about to connect to another parent: it is examined
/// so much later.
constexpr std::chrono::milliseconds until_other_parent = 3s;
constexpr std::size_t failed_parents_max = 4;
constexpr auto between_announcements = 500ms;
/// From a failed attempt at joining to the second one: the first may have failed because the host was busy.
constexpr auto until_joining_again = 10s;

bool is_away(Reach reach) { return reach == Reach::unreachable || reach == Reach::refused; }

}  // namespace

MonitoredNodes::World MonitoredNodes::World::real() {
    return {[] { return std::chrono::steady_clock::now(); },
            [](Endpoint const& target, TimePoint begin) -> Attempt {
                auto attempt = std::make_shared<ReachAttempt>(target, begin);
                return [attempt](TimePoint at) { return attempt->result(at); };
            }};
}

MonitoredNodes::MonitoredNodes(int nodes, std::optional<int> own, UniqueFd event, World world)
    : own_(own),
      event_(std::move(event)),
      world_(std::move(world)),
      entries_(static_cast<std::size_t>(nodes)),
      last_tick_(world_.now()) {}

std::vector<Node> MonitoredNodes::copy() const {
    std::scoped_lock const lock(mutex_);
    std::vector<Node> nodes;
    nodes.reserve(entries_.size());
    for (auto const& entry : entries_) nodes.push_back(entry.seen);
    return nodes;
}

void MonitoredNodes::request(NodeRequests requests) {
    std::scoped_lock const lock(mutex_);
    requests_ |= requests;
}

void MonitoredNodes::confirm_newest_run(std::chrono::milliseconds valid_for) {
    std::scoped_lock const lock(mutex_);
    is_newest_until_ = world_.now() + valid_for;
}

void MonitoredNodes::clear_event() const {
    std::uint64_t count = 0;
    (void)!::read(event_.get(), &count, sizeof count);
}

bool MonitoredNodes::is_replaceable(Rank rank) {
    std::scoped_lock const lock(mutex_);
    return entry_of(rank).seen.silence >= replaceable_after;
}

void MonitoredNodes::on_joined(Rank rank, Post const&) {
    std::scoped_lock const lock(mutex_);
    auto& entry = entry_of(rank);
    if (!std::exchange(entry.seen.is_connected, true)) ++connected_;
    forget_ending(entry);
    if (entry.seen.presence == Presence::joined) hear(entry);
}

bool MonitoredNodes::on_frame(Rank from, std::string_view frame, Post const& post) {
    auto const message = parse_from_node(frame);
    if (!message) return false;
    std::scoped_lock const lock(mutex_);
    if (auto const* beat = std::get_if<Beat>(&*message)) return take_beat(from, *beat, post);
    if (auto const* hello = std::get_if<Hello>(&*message)) return take_hello(from.value, *hello, post);
    if (auto const* examined = std::get_if<Examined>(&*message)) {
        take_report(from, *examined);
    } else {
        leave(entry_of(from));
        post(from, render(LeavingKnown{}));
    }
    return true;
}

void MonitoredNodes::on_left(Rank rank, Post const&) {
    std::scoped_lock const lock(mutex_);
    auto& entry = entry_of(rank);
    if (std::exchange(entry.seen.is_connected, false)) --connected_;
    bool const is_of_this_process = entry.parent == node_tree::supervisor && entry.listener;
    if (entry.seen.presence != Presence::joined || !is_of_this_process || endings_ >= endings_max) return;
    forget_ending(entry);
    entry.ending = world_.reach(*entry.listener, world_.now());
    ++endings_;
}

void MonitoredNodes::on_tick(TimePoint now, Post const& post) {
    std::scoped_lock const lock(mutex_);
    // What has arrived while this thread did not run was read before this call. Of that time no more counts
    // as silence than between two ticks that are somewhat late.
    auto const passed = std::chrono::duration_cast<std::chrono::milliseconds>(now - last_tick_);
    auto const counted = std::clamp<std::chrono::milliseconds>(passed, 0ms, 2 * between_ticks);
    last_tick_ = now;
    bool is_any_away = false;  // unreachable from here, or without a process
    for (auto& entry : entries_) {
        if (entry.seen.presence != Presence::joined) continue;
        entry.seen.silence += counted;
        advance_joining(entry, now);
        advance_ending(entry, now);
        if (entry.examination) end_examination(entry, now);
        is_any_away = is_any_away || is_away(entry.seen.from_here) || entry.seen.from_peer == Reach::refused;
    }
    // The owner decides by the time of the silence, not only by the results.
    if (is_any_away && now >= next_announcement_) {
        next_announcement_ = now + between_announcements;
        announce();
    }
    start_examinations(now, post);
}

/// If more nodes are due than may be examined at once, the next call goes on behind the last one, so that
/// each gets its turn.
void MonitoredNodes::start_examinations(TimePoint now, Post const& post) {
    auto const first = next_examined_;
    for (std::size_t i = 0; i < entries_.size() && examinations_ < examinations_max; ++i) {
        auto const node = (first + i) % entries_.size();
        if (!is_due(entries_[node], now)) continue;
        examine(static_cast<int>(node), now, post);
        next_examined_ = node + 1;
    }
}

NodeRequests MonitoredNodes::present_requests() const {
    bool const is_newest = world_.now() < is_newest_until_;
    return is_newest ? requests_ : requests_ | node_requests::look_for_newer_run;
}

void MonitoredNodes::hear(Entry& entry) {
    entry.pause = between_examinations;
    if (std::exchange(entry.seen.silence, 0ms) < NodeMonitor::suspected_after) return;
    if (std::exchange(entry.examination, std::nullopt)) --examinations_;
    entry.next_examination = {};
    entry.seen.from_here = entry.seen.from_peer = Reach::unknown;
    announce();
}

void MonitoredNodes::announce() const {
    std::uint64_t const one = 1;
    (void)!::write(event_.get(), &one, sizeof one);
}

bool MonitoredNodes::take_hello(int node, Hello const& hello, Post const& post) {
    auto& entry = entry_of({node});
    if (std::exchange(entry.session, hello.session) != hello.session) entry.failed_parents.clear();
    if (hello.failed_parent >= 0) entry.failed_parents.push_back(hello.failed_parent);
    if (entry.failed_parents.size() > failed_parents_max)
        entry.failed_parents.erase(entry.failed_parents.begin());
    // Without a parent, and without a place here, the node is watched by its file, and tries again later.
    if (!give_parent(node, post)) return false;
    bool const is_new = entry.seen.presence != Presence::joined;
    entry.seen.presence = Presence::joined;
    hear(entry);
    entry.has_beaten = false;
    bool const is_elsewhere = entry.listener.has_value() != hello.listener.has_value() ||
                              (hello.listener && (hello.listener->address != entry.listener->address ||
                                                  hello.listener->port != entry.listener->port));
    bool const is_tested = entry.seen.can_be_reached || entry.joining;
    if (!is_new && !is_elsewhere && is_tested) return true;
    entry.listener = hello.listener;
    entry.seen.can_be_reached = false;
    entry.has_joining_failed = false;
    entry.joining_again_at.reset();
    entry.must_be_reached = hello.listener.has_value();
    advance_joining(entry, world_.now());
    return true;
}

/// A node that has failed to send to several others one after another probably can't connect to any: it stays
/// here, if there is a place. If there is none, it may try the same nodes again.
/// \return false if the node has no parent now
bool MonitoredNodes::give_parent(int node, Post const& post) {
    auto& entry = entry_of({node});
    if (entry.parent && *entry.parent >= 0) --entry_of({*entry.parent}).children;
    entry.parent.reset();
    auto const nodes = static_cast<int>(entries_.size());
    auto const is_usable = [&](int each) { return can_be_parent(entry, each); };
    auto const parent = entry.failed_parents.size() >= failed_parents_max
                            ? node_tree::supervisor
                            : node_tree::choose_parent(nodes, node, is_usable);
    // The children that it has in the tree always find a place here.
    bool const is_adopted = parent == node_tree::supervisor && node_tree::find_parent(nodes, node) != parent;
    if (is_adopted && connected_ > node_tree::children_max) {
        entry.failed_parents.clear();
        return false;
    }
    entry.parent = parent;
    if (parent == node_tree::supervisor) return true;
    auto& chosen = entry_of({parent});
    ++chosen.children;
    post({node}, render(UseParent{parent, *chosen.listener}));
    return true;
}

bool MonitoredNodes::can_be_parent(Entry const& child, int candidate) const {
    auto const& entry = entries_[static_cast<std::size_t>(candidate)];
    return entry.seen.is_heard() && entry.has_beaten && entry.listener &&
           entry.children < node_tree::children_max &&
           std::ranges::find(child.failed_parents, candidate) == child.failed_parents.end();
}

bool MonitoredNodes::take_beat(Rank from, Beat const& beat, Post const& post) {
    auto& entry = entry_of(from);
    auto const nodes = entries_.size();
    if (!beat.heard.empty() && beat.heard.back().index > (nodes - 1) / nodes_of_word) return false;
    entry.seen.presence = Presence::joined;
    entry.has_beaten = true;
    hear(entry);
    entry.seen.activity = beat.activity;
    for (auto const& word : beat.heard) {
        for (auto bits = word.bits; bits != 0; bits &= bits - 1) {
            auto const node = word.index * nodes_of_word + static_cast<std::size_t>(std::countr_zero(bits));
            if (node >= nodes) return false;
            if (entries_[node].seen.presence != Presence::joined) continue;
            entries_[node].has_beaten = true;
            hear(entries_[node]);
        }
    }
    for (auto const& departure : beat.departures) {
        if (static_cast<std::size_t>(departure.node) >= nodes) return false;
        auto& departed = entry_of({departure.node});
        // Another process of the node may have connected since.
        if (departed.session == departure.session) leave(departed);
    }
    post(from, render(BeatAnswer{beat.number, present_requests(), 0, beat.number}));
    return true;
}

void MonitoredNodes::leave(Entry& entry) {
    if (std::exchange(entry.examination, std::nullopt)) --examinations_;
    if (std::exchange(entry.joining, {})) --joining_;
    forget_ending(entry);
    entry.must_be_reached = false;
    entry.joining_again_at.reset();
    entry.next_examination = {};
    if (entry.parent && *entry.parent >= 0) --entry_of({*entry.parent}).children;
    entry.parent.reset();
    entry.seen = {
        .presence = Presence::left, .is_connected = entry.seen.is_connected, .activity = entry.seen.activity};
}

void MonitoredNodes::advance_joining(Entry& entry, TimePoint now) {
    if (entry.joining_again_at && now >= *entry.joining_again_at) {
        entry.joining_again_at.reset();
        entry.must_be_reached = true;
    }
    if (entry.must_be_reached && joining_ < joining_max && !entry.joining) {
        entry.must_be_reached = false;
        entry.joining = world_.reach(*entry.listener, now);
        ++joining_;
    }
    if (!entry.joining) return;
    auto const reach = entry.joining(now);
    if (reach != Reach::unknown) end_joining(entry, reach, now);
}

void MonitoredNodes::end_joining(Entry& entry, Reach reach, TimePoint now) {
    entry.seen.can_be_reached = reach == Reach::connected;
    entry.joining = {};
    --joining_;
    bool const is_first_failure = reach != Reach::connected && !std::exchange(entry.has_joining_failed, true);
    if (is_first_failure) entry.joining_again_at = now + until_joining_again;
}

/// The attempt at joining ends first: it shows whether a refusal says anything.
void MonitoredNodes::advance_ending(Entry& entry, TimePoint now) {
    if (!entry.ending || entry.joining || entry.must_be_reached) return;
    auto const reach = entry.ending(now);
    if (reach == Reach::unknown) return;
    forget_ending(entry);
    entry.seen.is_killed = reach == Reach::refused && entry.seen.can_be_reached;
    if (entry.seen.is_killed) announce();
}

void MonitoredNodes::forget_ending(Entry& entry) {
    if (std::exchange(entry.ending, {})) --endings_;
    entry.seen.is_killed = false;
}

bool MonitoredNodes::is_due(Entry const& entry, TimePoint now) const {
    bool const is_busy = entry.examination || entry.joining || entry.must_be_reached;
    if (entry.seen.presence != Presence::joined || is_busy || now < entry.next_examination) return false;
    auto const parent = entry.parent.value_or(node_tree::supervisor);
    bool const is_parent_heard =
        parent == node_tree::supervisor || entries_[static_cast<std::size_t>(parent)].seen.is_heard();
    auto const due_after = NodeMonitor::suspected_after + (is_parent_heard ? 0ms : until_other_parent);
    return entry.seen.silence >= due_after;
}

void MonitoredNodes::examine(int node, TimePoint now, Post const& post) {
    auto& entry = entries_[static_cast<std::size_t>(node)];
    ++entry.round;
    if (!entry.listener) {
        entry.next_examination = now + report_limit;
        return announce();
    }
    entry.examination.emplace(
        Examination{world_.reach(*entry.listener, now), choose_peers(node), now + report_limit});
    ++examinations_;
    for (auto const& peer : entry.examination->peers)
        post({peer.node}, render(Examine{node, entry.round, *entry.listener}));
}

/// Up to two nodes that are connected to this process and heard, on other hosts than this one and the silent
/// node: other ones each time. Two, because one of them may be lost as well without being silent yet.
std::vector<MonitoredNodes::Peer> MonitoredNodes::choose_peers(int silent) const {
    auto const& entry = entries_[static_cast<std::size_t>(silent)];
    if (is_loopback_address(entry.listener->address)) return {};
    std::vector<int> heard;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        auto const node = static_cast<int>(i);
        bool const is_other = node != silent && node != own_;
        if (is_other && entries_[i].seen.is_connected && entries_[i].seen.is_heard()) heard.push_back(node);
    }
    auto const first = entry.round + static_cast<std::size_t>(silent);
    std::vector<Peer> peers;
    if (!heard.empty()) peers.push_back({heard[first % heard.size()]});
    if (heard.size() > 1) peers.push_back({heard[(first + heard.size() / 2) % heard.size()]});
    return peers;
}

void MonitoredNodes::take_report(Rank from, Examined const& examined) {
    if (static_cast<std::size_t>(examined.node) >= entries_.size()) return;
    auto& entry = entry_of({examined.node});
    if (!entry.examination || entry.round != examined.round) return;
    for (auto& peer : entry.examination->peers)
        if (peer.node == from.value) peer.report = examined.reach;
}

void MonitoredNodes::end_examination(Entry& entry, TimePoint now) {
    auto const& examination = *entry.examination;
    auto const from_here = examination.from_here(now);
    Peer said{-1};  // of those that have answered, the one that has come nearest to the node
    bool have_all_reported = true;
    for (auto const& peer : examination.peers) {
        have_all_reported = have_all_reported && peer.report != Reach::unknown;
        bool const is_first = said.report == Reach::unknown;
        if (is_first || (peer.report != Reach::unknown && peer.report < said.report)) said = peer;
    }
    bool const has_report =
        have_all_reported || said.report == Reach::connected || now >= examination.report_deadline;
    if (from_here == Reach::unknown || !has_report) return;
    entry.seen.from_here = from_here;
    entry.seen.from_peer = said.report;
    entry.seen.peer = said.node;
    entry.examination.reset();
    --examinations_;
    auto const from_peer = entry.seen.from_peer;
    bool const is_answered = from_here == Reach::connected || from_here == Reach::refused ||
                             from_peer == Reach::connected || from_peer == Reach::refused;
    entry.pause = is_answered ? std::min(2 * entry.pause, between_examinations_max) : between_examinations;
    entry.next_examination = now + entry.pause;
    announce();
}

}  // namespace det::transport
