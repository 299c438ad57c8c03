#pragma once
#include <det/foundation/clock.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "supervisor_link.hpp"

namespace det::launch::wrap_rank {

/// Whether a newer run of the trial exists, for example because this node was cut off from the network. Lists
/// the directory: an NFS client may remember that a name is absent, but asks the server when a directory is
/// opened.
/// \param run the directory of a run
bool is_superseded(std::filesystem::path const& run);

/// Shows the supervisor that tasks of the run live on this node, and at last that they have ended in order.
/// Each outermost wrapper has one. A node that is connected does so over the network, and makes no file.
///
/// - **Connected.** SupervisorLink sends beats, and at the end of the wrapper that sends them the message
///   that the node leaves. The supervisor confirms that it knows.
/// - **Not connected** (a firewall, a cut network, no supervisor). After a delay wrappers touch
///   runs/N/node-K.pulse, and remove it at their end.
/// - **An end that no supervisor has confirmed** leaves runs/N/node-K.left. It is made before the heartbeat
///   file is removed, which takes precedence: so a wrapper that is killed between the two was killed as far
///   as the supervisor sees. A node that joined, and has neither a heartbeat file nor this one, has been
///   killed, is suspended, or has not noticed yet that it is cut off. Other wrappers of the node that go on
///   take over: they touch the heartbeat file, or connect and remove node-K.left.
///
/// The delay is a few seconds more than what a node needs to connect for the first time, to find another
/// parent, or to take over from a wrapper that has ended, so that these make no file. The supervisor calls no
/// node gone or silent before the delay is over (NodeWatch::gone_limit).
///
/// Whether a newer run exists is looked for by a node that is not connected, from the moment at which it
/// finds that, or at its start after the same delay. What the supervisor tells a connected one is enough.
class Heartbeat {
public:
    /// \param node_log the log of this node, beside which its files are
    /// \param run the directory of the run
    /// \param silence_limit DET_SILENCE_S
    /// \param link nullptr: this node can't connect; must outlive this object
    /// \param has_monitor whether the supervisor wants to be told of the end of the node. If it can't watch
    ///     nodes over the network, it takes a heartbeat file that has gone as an end in order
    Heartbeat(std::filesystem::path const& node_log, std::filesystem::path run,
              std::chrono::seconds silence_limit, SupervisorLink* link, bool has_monitor, Clock const& clock);
    Heartbeat(Heartbeat const&) = delete;
    Heartbeat& operator=(Heartbeat const&) = delete;
    /// The tasks of this wrapper have ended in order. Blocks for a second at most, and while the shared file
    /// system does not answer if the supervisor has not confirmed the end.
    ~Heartbeat();

    /// How often beat() must be called.
    std::chrono::milliseconds beat_interval() const;
    /// \return false if a newer run of the trial is known: this run must end
    bool beat();
    /// The requests of the supervisor that the last beat() has found.
    std::vector<std::string_view> find_requests() const;
    /// Shows the supervisor a number that changes while the ranks of this node go on.
    void show_activity(std::uint64_t activity);

private:
    using Time = std::chrono::steady_clock::time_point;

    std::chrono::milliseconds file_interval() const;
    std::chrono::milliseconds file_delay() const;
    bool uses_file(Time now) const;
    Time find_next_look(Time now) const;
    bool must_look_for_newer_run() const;
    bool beat_over_network();
    bool beat_by_file(Time now);
    UniqueFd open_file() const;
    void write_activity(std::uint64_t activity);

    std::filesystem::path const file_, left_, run_;
    std::chrono::seconds const interval_;
    SupervisorLink* const link_;
    bool const has_monitor_;
    Clock const& clock_;
    Time next_look_;                           // at the files of the run
    std::optional<Time> unconnected_since_{};  // nullopt: it is connected, or there was no beat() yet
    bool is_connected_ = false;                // at the last beat()
    bool looks_ = false;                       // at the last beat(): at the files of the run
    bool writes_activity_ = false;
};

}  // namespace det::launch::wrap_rank
