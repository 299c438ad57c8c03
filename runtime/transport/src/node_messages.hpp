#pragma once
#include <det/transport/node_monitor.hpp>

#include <string>
#include <variant>

namespace det::transport::node_messages {

// The messages that nodes exchange with the supervisor and with each other: NODE_MONITOR.md. Pure.

/// Part of what both sides prove to each other, so that another version is refused.
inline constexpr char purpose[] = "nodes3";
/// The purpose of connections to a node: the port of one node can't be taken for that of another one.
std::string purpose_of_node(int node);

inline constexpr std::size_t frame_limit_bytes = 4096;  // of a message from a node to its parent
inline constexpr std::size_t answer_limit_bytes = 128;  // of a message from the parent
/// Waiting at one connection: a peer that reads nothing for minutes gets no more.
inline constexpr std::size_t outgoing_max_bytes = std::size_t{64} << 10;
inline constexpr std::size_t nodes_of_word = 64;
inline constexpr std::size_t words_max = NodeMonitor::nodes_max / nodes_of_word;
inline constexpr std::size_t departures_max = 64;

/// From a node, once after it has connected.
struct Hello {
    std::uint32_t session = 0;        // chosen at random by the process that sends
    std::int32_t failed_parent = -1;  // the parent that it has left or not reached; -1: none
    /// Where children and examinations connect to it; nullopt: it can open no port.
    std::optional<Endpoint> listener = {};
};
/// A part of a set of nodes: bit i stands for node index * 64 + i.
struct NodeWord {
    std::uint16_t index = 0;
    std::uint64_t bits = 0;  // not 0
    friend bool operator==(NodeWord const&, NodeWord const&) = default;
};
/// A node whose processes have ended in order.
struct Departure {
    std::int32_t node = 0;
    std::uint32_t session = 0;  // of its Hello
    friend bool operator==(Departure const&, Departure const&) = default;
};
/// From a node, each second: what it has heard of its descendants since the last one.
struct Beat {
    std::uint64_t number = 0;
    std::optional<std::uint64_t> activity = {};  // of it and its descendants together
    std::vector<NodeWord> heard = {};            // descendants, by ascending index
    std::vector<Departure> departures = {};      // of descendants
};
/// From a node to the supervisor: whether it has reached another one.
struct Examined {
    std::int32_t node = 0;
    std::uint32_t round = 0;
    Reach reach = Reach::unknown;
};
/// From a node, as its last message: its processes have ended in order. The parent answers with LeavingKnown.
struct Leaving {};
using FromNode = std::variant<Hello, Beat, Examined, Leaving>;

/// From the parent, for each beat.
struct BeatAnswer {
    std::uint64_t number = 0;  // of the beat
    NodeRequests requests = 0;
    std::uint32_t age_ms = 0;  // since the supervisor has made these requests
    std::uint64_t known = 0;   // the departures in the beats up to this number have reached the supervisor
};
/// From the supervisor: try to connect to another node.
struct Examine {
    std::int32_t node = 0;
    std::uint32_t round = 0;
    Endpoint listener;
};
/// From the supervisor: send the beats to this node instead.
struct UseParent {
    std::int32_t node = 0;
    Endpoint listener;
};
/// From the parent: the supervisor knows of the end of this node, and of all departures in its beats.
struct LeavingKnown {};
using FromSupervisor = std::variant<BeatAnswer, Examine, UseParent, LeavingKnown>;

std::string render(FromNode const& message);
std::string render(FromSupervisor const& message);
/// \return nullopt for a frame that is no message of this version
std::optional<FromNode> parse_from_node(std::string_view frame);
std::optional<FromSupervisor> parse_from_supervisor(std::string_view frame);

}  // namespace det::transport::node_messages
