#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "monitored_nodes.hpp"
#include "node_silence.hpp"
#include "subtree.hpp"
#include "uplink_silence.hpp"

namespace det::simulation {

/// A supervisor and the nodes of its run with a clock that only run() advances. What decides, and the
/// messages, are those of the programs: MonitoredNodes, Subtree, UplinkSilence, choose_parent() and
/// judge_silence(). Connections are simulated: a message arrives within a step.
class SimulatedRun {
public:
    using Milliseconds = std::chrono::milliseconds;
    using TimePoint = transport::TimePoint;
    static constexpr Milliseconds step{50};

    SimulatedRun(int nodes, std::uint32_t seed, Milliseconds node_timeout);

    /// Advances the clock by steps.
    void run(Milliseconds length);
    Milliseconds elapsed() const { return std::chrono::duration_cast<Milliseconds>(now_ - begin); }
    bool are_all_heard() const;

    /// The host loses its power: it answers nothing, and its connections do not end.
    void cut_power(int node);
    /// Its processes are killed: its host refuses connections, and ends those that exist.
    void kill(int node);
    /// Its processes do not run until they are resumed; its kernel accepts connections.
    void suspend(int node) { nodes_.at(static_cast<std::size_t>(node)).is_suspended = true; }
    void resume(int node) { nodes_.at(static_cast<std::size_t>(node)).is_suspended = false; }
    /// Nothing comes through between the supervisor's host and that of the node, until it is healed.
    void cut_path(int node) { at(node).is_cut = true; }
    void heal_path(int node) { at(node).is_cut = false; }
    /// The supervisor's process does not run until it is resumed.
    void suspend_supervisor() { is_supervisor_suspended_ = true; }
    void resume_supervisor() { is_supervisor_suspended_ = false; }
    /// The processes of the node end in order.
    void leave(int node);

    struct Found {
        int node;
        Milliseconds after;  // its death; negative: it lives
        Milliseconds silence;
    };
    /// The nodes that were called lost or gone.
    std::vector<Found> found() const;
    /// The longest silence of a node that lives, as the supervisor has counted it, since the last call.
    Milliseconds take_longest_silence_of_living() { return std::exchange(longest_silence_, Milliseconds(0)); }
    std::vector<transport::NodeMonitor::Node> seen() const { return monitored_->copy(); }
    int connected_to_supervisor() const { return static_cast<int>(supervisors_connections_.size()); }
    /// The node to which a node sends its beats, or the supervisor; nullopt: none now.
    std::optional<int> parent_of(int node) const {
        auto const& uplink = nodes_.at(static_cast<std::size_t>(node)).uplink;
        return uplink ? std::optional(uplink->parent) : std::nullopt;
    }
    /// The most children that a node has now.
    int most_children() const;
    std::size_t largest_beat_bytes() const { return largest_beat_bytes_; }

private:
    static constexpr TimePoint begin{std::chrono::hours(1)};

    struct Uplink {
        int parent;
        std::uint64_t serial;
    };
    struct SimulatedNode {
        bool has_power = true, has_processes = true, is_suspended = false, is_cut = false;
        std::optional<TimePoint> died_at = {};
        std::unique_ptr<transport::Subtree> subtree;
        std::optional<Uplink> uplink = {};
        transport::UplinkSilence silence{true, Milliseconds(0)};
        TimePoint next_beat, next_attempt;
        int failed_parent = -1;
        std::vector<std::string> from_parent = {};
        struct FromChild {
            int child;
            std::uint64_t serial;
            std::string frame;
        };
        std::vector<FromChild> from_children = {};
        std::map<int, std::uint64_t> children = {};  // connections by serial
        struct Examination {
            transport::node_messages::Examine asked;
            transport::MonitoredNodes::Attempt attempt;
        };
        std::vector<Examination> examinations = {};
    };

    SimulatedNode& at(int node) { return nodes_.at(static_cast<std::size_t>(node)); }
    bool is_alive(int node) const {
        auto const& each = nodes_[static_cast<std::size_t>(node)];
        return each.has_power && each.has_processes;
    }
    Milliseconds draw(Milliseconds least, Milliseconds most);
    transport::MonitoredNodes::Attempt reach(Endpoint const& target, TimePoint start,
                                             bool is_from_supervisor);

    void run_supervisor();
    void run_node(int node);
    void serve_children(int node);
    void read_parent(int node);
    void report_examinations(int node);
    void send(int node, transport::node_messages::FromNode const& message);
    void send_beat(int node);
    void connect(int node, int parent);
    void disconnect(int node);
    void come_back_later(int node);
    void end_connections_of(int node);
    void judge(std::vector<transport::NodeMonitor::Node> const& seen);

    Milliseconds const node_timeout_;
    std::minstd_rand random_;
    TimePoint now_ = begin;
    TimePoint next_tick_ = begin;
    std::vector<SimulatedNode> nodes_;
    std::unique_ptr<transport::MonitoredNodes> monitored_;
    transport::FrameHandler::Post post_;
    std::map<int, std::uint64_t> supervisors_connections_;
    std::vector<SimulatedNode::FromChild> to_supervisor_;
    bool is_supervisor_suspended_ = false;
    std::uint64_t serial_ = 0;
    std::map<int, Found> found_;
    Milliseconds longest_silence_{};
    std::size_t largest_beat_bytes_ = 0;
};

}  // namespace det::simulation
