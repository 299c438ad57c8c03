#include "simulated_run.hpp"

#include <algorithm>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

#include "node_tree.hpp"

namespace det::simulation {
namespace {

using namespace std::chrono_literals;
using namespace transport;
using namespace transport::node_messages;
using launch::supervisor::judge_silence;
using launch::supervisor::NodeSilence;
using launch::supervisor::SilenceVerdict;

constexpr auto attempt_limit = 2500ms;  // ReachAttempt::limit

/// The port is the number of the node and one more. No address is one of the own host: peers are asked.
Endpoint endpoint_of(int node) { return {"10.0.0.1", static_cast<std::uint16_t>(node + 1)}; }

}  // namespace

SimulatedRun::SimulatedRun(int nodes, std::uint32_t seed, Milliseconds node_timeout)
    : node_timeout_(node_timeout), random_(seed + 1), nodes_(static_cast<std::size_t>(nodes)) {
    MonitoredNodes::World world{
        [this] { return now_; },
        [this](Endpoint const& target, TimePoint start) { return reach(target, start, true); }};
    monitored_ = std::make_unique<MonitoredNodes>(
        nodes, std::nullopt, UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), std::move(world));
    post_ = [this](Rank to, std::string frame) {
        auto& each = at(to.value);
        bool const arrives = supervisors_connections_.contains(to.value) && each.has_power && !each.is_cut;
        if (arrives) each.from_parent.push_back(std::move(frame));
    };
    for (int node = 0; node < nodes; ++node) {
        auto& each = at(node);
        each.subtree = std::make_unique<Subtree>(nodes, node);
        bool const is_first_level = node_tree::find_parent(nodes, node) == node_tree::supervisor;
        each.next_attempt = now_ + draw(0ms, is_first_level ? 500ms : Milliseconds(500 + nodes));
    }
}

SimulatedRun::Milliseconds SimulatedRun::draw(Milliseconds least, Milliseconds most) {
    return Milliseconds(std::uniform_int_distribution<long>(least.count(), most.count())(random_));
}

MonitoredNodes::Attempt SimulatedRun::reach(Endpoint const& target, TimePoint start,
                                            bool is_from_supervisor) {
    int const node = target.port - 1;
    return [this, node, start, is_from_supervisor](TimePoint now) {
        auto const& each = nodes_[static_cast<std::size_t>(node)];
        bool const answers = each.has_power && !(is_from_supervisor && each.is_cut);
        if (!answers) return now >= start + attempt_limit ? Reach::unreachable : Reach::unknown;
        if (now < start + step) return Reach::unknown;
        return each.has_processes ? Reach::connected : Reach::refused;
    };
}

void SimulatedRun::run(Milliseconds length) {
    for (auto const until = now_ + length; now_ < until;) {
        now_ += step;
        if (!is_supervisor_suspended_) run_supervisor();
        for (int node = 0; node < std::ssize(nodes_); ++node)
            if (is_alive(node) && !at(node).is_suspended) run_node(node);
    }
}

void SimulatedRun::run_supervisor() {
    for (auto const& [child, serial, frame] : std::exchange(to_supervisor_, {})) {
        auto const found = supervisors_connections_.find(child);
        if (found == supervisors_connections_.end() || found->second != serial) continue;
        if (monitored_->on_frame({child}, frame, post_)) continue;
        supervisors_connections_.erase(child);
        monitored_->on_left({child}, post_);
        if (is_alive(child) && at(child).uplink && at(child).uplink->serial == serial) come_back_later(child);
    }
    if (now_ < next_tick_) return;
    monitored_->on_tick(now_, post_);
    next_tick_ = now_ + Milliseconds(FrameHandler::tick_ms);
    auto const seen = monitored_->copy();
    for (std::size_t node = 0; node < seen.size(); ++node) {
        bool const lives = !nodes_[node].died_at && !nodes_[node].is_suspended;
        if (lives && seen[node].presence == NodeMonitor::Presence::joined)
            longest_silence_ = std::max(longest_silence_, seen[node].silence);
    }
    // As the supervisor, which waits for the event.
    std::uint64_t events = 0;
    if (::read(monitored_->fd(), &events, sizeof events) > 0) judge(seen);
}

void SimulatedRun::judge(std::vector<NodeMonitor::Node> const& seen) {
    for (int node = 0; node < std::ssize(nodes_); ++node) {
        auto const& each = seen[static_cast<std::size_t>(node)];
        auto const verdict =
            judge_silence({each, node_timeout_, false, NodeSilence::Slurm::says_nothing}).verdict;
        if (verdict != SilenceVerdict::lost && verdict != SilenceVerdict::gone) continue;
        auto const died_at = at(node).died_at;
        auto const after =
            died_at ? std::chrono::duration_cast<Milliseconds>(now_ - *died_at) : Milliseconds(-1);
        found_.try_emplace(node, Found{node, after, each.silence});
    }
}

void SimulatedRun::run_node(int node) {
    auto& own = at(node);
    serve_children(node);
    read_parent(node);
    report_examinations(node);
    if (!own.uplink) {
        if (now_ >= own.next_attempt) connect(node, node_tree::supervisor);
        return;
    }
    if (now_ >= own.next_beat) send_beat(node);
    own.silence.pass_time(step);
    if (own.uplink && own.silence.is_over()) come_back_later(node);
}

void SimulatedRun::serve_children(int node) {
    auto& own = at(node);
    for (auto const& [child, serial, frame] : std::exchange(own.from_children, {})) {
        auto const found = own.children.find(child);
        if (found == own.children.end() || found->second != serial) continue;
        auto const message = parse_from_node(frame);
        std::optional<BeatAnswer> answer;
        bool const is_valid = message && own.subtree->take(child, *message, now_, answer);
        bool const is_there = is_alive(child) && at(child).uplink && at(child).uplink->serial == serial;
        if (!is_valid && is_there) come_back_later(child);
        if (answer && is_there) at(child).from_parent.push_back(render(*answer));
    }
}

void SimulatedRun::read_parent(int node) {
    auto& own = at(node);
    for (auto const& frame : std::exchange(own.from_parent, {})) {
        if (!own.uplink) return;
        auto const message = parse_from_supervisor(frame).value();
        if (auto const* answer = std::get_if<BeatAnswer>(&message)) {
            own.silence.take_answer(Milliseconds(answer->age_ms));
            own.subtree->take_answer(*answer, now_);
        } else if (auto const* examine = std::get_if<Examine>(&message)) {
            own.examinations.push_back({*examine, reach(examine->listener, now_, false)});
        } else {
            disconnect(node);
            return connect(node, std::get<UseParent>(message).node);
        }
    }
}

void SimulatedRun::report_examinations(int node) {
    std::erase_if(at(node).examinations, [&](auto const& each) {
        auto const reach = each.attempt(now_);
        if (reach == Reach::unknown) return false;
        if (at(node).uplink) send(node, Examined{each.asked.node, each.asked.round, reach});
        return true;
    });
}

void SimulatedRun::send(int node, FromNode const& message) {
    auto const [parent, serial] = *at(node).uplink;
    auto frame = render(message);
    largest_beat_bytes_ = std::max(largest_beat_bytes_, frame.size());
    if (parent == node_tree::supervisor && at(node).is_cut) return;
    if (parent == node_tree::supervisor)
        to_supervisor_.push_back({node, serial, std::move(frame)});
    else if (at(parent).has_power)
        at(parent).from_children.push_back({node, serial, std::move(frame)});
}

void SimulatedRun::connect(int node, int parent) {
    auto& own = at(node);
    bool const is_to_supervisor = parent == node_tree::supervisor;
    bool const answers = is_to_supervisor ? !is_supervisor_suspended_ && !own.is_cut
                                          : is_alive(parent) && !at(parent).is_suspended;
    auto& connections = is_to_supervisor ? supervisors_connections_ : at(parent).children;
    bool const is_taken = answers && connections.contains(node) &&
                          !(is_to_supervisor ? monitored_->is_replaceable({node})
                                             : at(parent).subtree->is_replaceable(node, now_));
    if (!answers || is_taken) {
        if (!is_to_supervisor) own.failed_parent = parent;
        // A connect or a handshake without an answer takes up to three seconds.
        own.next_attempt = now_ + draw(500ms, 4s);
        return;
    }
    own.uplink = Uplink{parent, ++serial_};
    connections[node] = serial_;
    own.silence = UplinkSilence(is_to_supervisor, 15s + draw(0ms, 3ms * std::ssize(nodes_)));
    own.from_parent.clear();
    own.subtree->begin_uplink();
    if (is_to_supervisor)
        monitored_->on_joined({node}, post_);
    else
        at(parent).subtree->add_child(node, now_);
    send(node,
         Hello{static_cast<std::uint32_t>(node), std::exchange(own.failed_parent, -1), endpoint_of(node)});
    send_beat(node);
}

void SimulatedRun::send_beat(int node) {
    auto& own = at(node);
    // Threads of a host under load run late.
    own.next_beat = now_ + NodeBeats::interval + draw(-100ms, 100ms);
    send(node, own.subtree->make_beat(static_cast<std::uint64_t>(elapsed().count()), now_));
}

void SimulatedRun::disconnect(int node) {
    auto const uplink = std::exchange(at(node).uplink, std::nullopt);
    if (!uplink) return;
    bool const is_to_supervisor = uplink->parent == node_tree::supervisor;
    auto& connections = is_to_supervisor ? supervisors_connections_ : at(uplink->parent).children;
    auto const found = connections.find(node);
    if (found == connections.end() || found->second != uplink->serial) return;
    connections.erase(found);
    if (is_to_supervisor)
        monitored_->on_left({node}, post_);
    else
        at(uplink->parent).subtree->remove_child(node);
}

void SimulatedRun::come_back_later(int node) {
    auto& own = at(node);
    if (own.uplink && own.uplink->parent != node_tree::supervisor) own.failed_parent = own.uplink->parent;
    disconnect(node);
    own.next_attempt = now_ + draw(250ms, 500ms);
}

void SimulatedRun::cut_power(int node) {
    at(node).has_power = false;
    at(node).died_at = now_;
}

void SimulatedRun::kill(int node) {
    at(node).has_processes = false;
    at(node).died_at = now_;
    end_connections_of(node);
}

void SimulatedRun::leave(int node) {
    if (!at(node).uplink) connect(node, node_tree::supervisor);
    if (at(node).uplink) send(node, Leaving{});
    at(node).has_processes = false;
    at(node).died_at = now_;
    for (int child = 0; child < std::ssize(nodes_); ++child)
        if (at(child).uplink && at(child).uplink->parent == node && is_alive(child)) come_back_later(child);
}

/// The kernel of the host of the node ends its connections.
void SimulatedRun::end_connections_of(int node) {
    disconnect(node);
    for (int child = 0; child < std::ssize(nodes_); ++child)
        if (at(child).uplink && at(child).uplink->parent == node && is_alive(child)) come_back_later(child);
}

bool SimulatedRun::are_all_heard() const {
    auto const seen = monitored_->copy();
    return std::ranges::all_of(seen, &NodeMonitor::Node::is_heard);
}

std::vector<SimulatedRun::Found> SimulatedRun::found() const {
    std::vector<Found> all;
    for (auto const& [node, found] : found_) all.push_back(found);
    return all;
}

int SimulatedRun::most_children() const {
    std::size_t most = 0;
    for (auto const& node : nodes_) most = std::max(most, node.children.size());
    return static_cast<int>(most);
}

}  // namespace det::simulation
