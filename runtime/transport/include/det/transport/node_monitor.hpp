#pragma once
#include <det/protocol/rendezvous_file.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::transport {

// Each node of a run keeps a connection to the supervisor or to another node, its parent, and sends a beat
// over it once a second (NodeBeats). NodeMonitor is the supervisor's side: it tells each node its parent. The
// messages are described in NODE_MONITOR.md. Both sides prove that they know the secret of the run.

/// What the supervisor asks of the processes of a node: bits that travel with the answer to each beat.
using NodeRequests = std::uint32_t;
namespace node_requests {
inline constexpr NodeRequests stop = 1;        // save the work and exit
inline constexpr NodeRequests stacks = 2;      // write the stacks of the ranks
inline constexpr NodeRequests superseded = 4;  // a newer run of the trial exists: end
/// The supervisor has not looked for a newer run lately: look yourselves.
inline constexpr NodeRequests look_for_newer_run = 8;
inline constexpr NodeRequests all = stop | stacks | superseded | look_for_newer_run;
}  // namespace node_requests

/// Whether a host answers an attempt to connect to a port at which a process of the run has listened.
enum class Reach : std::uint8_t {
    unknown,      // not tried, or the attempt has not ended
    connected,    // the host is up, and the process exists; it need not run
    refused,      // the host is up, and the process is gone
    unreachable,  // no answer of the host within the time limit
};

/// Where the nodes of a run find its supervisor. Travels in the environment of the run's step.
struct NodeMonitorAddress {
    std::uint16_t port = 0;
    int nodes = 0;  // number of nodes that may connect
    std::vector<std::string> addresses =
        {};  // of the supervisor's host, numeric: nodes try one after another
};

/// "PORT NODES ADDRESS...". Pure.
std::string render_node_monitor_address(NodeMonitorAddress const& address);
/// \return nullopt if the text is no such address. Pure.
std::optional<NodeMonitorAddress> parse_node_monitor_address(std::string_view text);

/// The supervisor's side: a thread, det-nodes3, that receives the beats of a run's nodes, and examines nodes
/// that are silent. All functions are thread-safe and do not block.
class NodeMonitor {
public:
    /// The size of messages is limited for so many.
    static constexpr int nodes_max = 16'384;
    /// From this silence on a node is suspected, and examined again and again.
    static constexpr std::chrono::milliseconds suspected_after = std::chrono::seconds(3);

    enum class Presence {
        absent,  // has never connected
        joined,  // has connected, and has not left; it may be silent, or its connection may have ended
        left,    // its processes have ended in order
    };
    struct Node {
        Presence presence = Presence::absent;
        bool is_connected = false;  // to this process, not to another node
        /// Its connection to this process has ended without a word, and its host then refused one to its
        /// port: its process was killed. Until it connects again.
        bool is_killed = false;
        /// Time since the last beat, or since another node has last heard one. The time in which the
        /// monitor's own thread did not run does not count.
        std::chrono::milliseconds silence{};
        /// Changes while ranks of the node, or of nodes whose beats it sends, make progress; nullopt: they
        /// show none.
        std::optional<std::uint64_t> activity = {};
        /// Whether the supervisor's host could connect to the node's port when the node joined: only then a
        /// failed attempt says anything about the node.
        bool can_be_reached = false;
        Reach from_here = Reach::unknown;  // the last attempt of the supervisor's host, while it is silent
        Reach from_peer = Reach::unknown;  // that of another node, on another host than the supervisor's
        int peer = -1;                     // that node

        /// Whether the connection replaces the node's file.
        bool is_heard() const { return presence == Presence::joined && silence < suspected_after; }
    };

    /// \param own the node on the host of this process; nullopt: none
    /// \return an error of the socket
    static Result<std::unique_ptr<NodeMonitor>> start(std::string secret, int nodes, std::optional<int> own);
    virtual ~NodeMonitor() = default;

    virtual std::uint16_t port() const = 0;
    virtual std::vector<Node> nodes() const = 0;
    /// Adds requests to those that the nodes get with their next answers.
    virtual void request(NodeRequests requests) = 0;
    /// To be called when no newer run of the trial was found: for the given time nodes need not look
    /// themselves. Without a call they do.
    virtual void confirm_newest_run(std::chrono::milliseconds valid_for) = 0;
    /// An event descriptor, readable after a node was examined, after a silent node was heard again or one
    /// was killed, and twice a second while this host does not reach a silent node, or no process listens
    /// there.
    virtual int fd() const = 0;
    /// Makes fd() not readable.
    virtual void clear_event() = 0;
};

/// A node's side: a thread, det-beats, that connects to the supervisor, or to the parent that the supervisor
/// names, again and again if it must, and sends beats. It also examines other nodes for the supervisor. A
/// second thread serves the nodes whose parent it is.
class NodeBeats {
public:
    static constexpr std::chrono::seconds interval{1};

    struct Options {
        NodeMonitorAddress supervisor;
        std::string secret;
        int node = 0;
        /// Whether another object has connected this node before: its supervisor has then got over the start
        /// of the run, and takes this one for a node that has left until it connects.
        bool takes_over = false;
        /// Called on the thread for each beat.
        std::function<std::optional<std::uint64_t>()> find_activity = {};
        /// Called on the thread for each answer, if the supervisor itself has answered lately.
        std::function<void(NodeRequests)> on_answer = {};
    };

    explicit NodeBeats(Options options);
    NodeBeats(NodeBeats const&) = delete;
    NodeBeats& operator=(NodeBeats const&) = delete;
    /// Calls leave().
    ~NodeBeats();

    enum class Left {
        known,            // the supervisor has confirmed that the node has left
        unconfirmed,      // it may know, or not
        never_connected,  // it has never heard of this object
    };
    /// Tells the supervisor that the processes of this node have ended in order, unless it has never heard of
    /// this object. Blocks until it knows, for at most a second; after it neither function is called. May be
    /// called again.
    Left leave();

private:
    class Sender;
    std::shared_ptr<Sender> sender_;
};

}  // namespace det::transport
