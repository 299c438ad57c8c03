#pragma once
#include <det/protocol/directory_layout.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace det::launch::supervisor {

/// What the network shows of a node of a run.
enum class NodeContact {
    unwatched,  // nothing: this run is watched by files only
    absent,     // it has never connected
    heard,      // its beats come
    silent,     // it has connected, and its beats do not come
    left,       // it has said that its tasks have ended in order
};

/// Which files the nodes of a run have in its directory. Taken by listing the directory: an NFS client may
/// remember that a name is absent, but asks the server when a directory is opened.
class NodeFiles {
public:
    static Result<NodeFiles> list(RunLayout const& run);

    /// Whether the node says that tasks live there.
    bool has_heartbeat(int node) const { return has(run_.heartbeat(node)); }
    /// Whether the tasks of the node have ended in order, as it says.
    bool has_left(int node) const { return !has_heartbeat(node) && has(run_.node_left(node)); }
    /// Whether a rank of the node has failed.
    bool has_failures(int node) const { return has(RunLayout::failures_beside(run_.node_log(node))); }
    /// Whether a task of the node has written anything.
    bool has_output(int node) const { return has(run_.node_log(node)) || has_failures(node); }

private:
    NodeFiles(RunLayout run, std::vector<std::string> names)
        : run_(std::move(run)), names_(std::move(names)) {}
    bool has(std::filesystem::path const& file) const;

    RunLayout run_;
    std::vector<std::string> names_;  // ascending
};

/// When the heartbeat file of a node was changed; nullopt: there is none.
std::optional<std::int64_t> read_heartbeat_ns(std::filesystem::path const& file);

/// The same for nodes that have connected and are not heard. Lists the directory of the run once, when the
/// first node without a heartbeat file is read: an object is for nodes that are read one after another.
class SilentNodes {
public:
    explicit SilentNodes(RunLayout run) : run_(std::move(run)) {}
    /// Changes, from one object to a later one, while tasks live on the node and the storage can be written.
    /// \return nullopt: the tasks of the node have ended in order, or the storage does not tell
    std::optional<std::int64_t> read_ns(int node);

private:
    RunLayout run_;
    std::optional<Result<NodeFiles>> files_;  // nullopt: not listed yet
};

/// Detects nodes of a run that are silent. A node that is not connected to the supervisor shows by its files
/// whether its tasks live (wrap_rank's Heartbeat):
///
/// - A heartbeat file that has not changed for several checks: the node is silent.
/// - No heartbeat file, and the node had connected: the same, unless the file of an end in order is there.
///   Such a node makes its heartbeat file within a few seconds, if it lives and is not suspended.
/// - No heartbeat file, the node has never connected, and its log or the record of a failure is there: the
///   same. Its wrapper has begun, so it connects or makes its heartbeat file within a few seconds. If it was
///   killed with its slurmstepd, srun does not learn of its end, and nothing else shows that it is gone.
/// - No heartbeat file, no connection and no output: the node has not started, is about to connect, or has
///   ended, if the file of an end is there or its heartbeat file was seen before.
/// - Without a monitor of the run's nodes every node has a heartbeat file from its start to its end.
///
/// If all nodes have ended but the step has not, no process is left that could report that to srun, and the
/// first node is reported as silent.
class HeartbeatMonitor {
public:
    /// Number of consecutive checks without a change after which a node is silent.
    static constexpr int checks_until_silent = 4;

    HeartbeatMonitor(RunLayout run, int nodes)
        : run_(std::move(run)), nodes_(static_cast<std::size_t>(nodes)) {}

    /// The index of a silent node. Call it at intervals longer than that of the heartbeats. Reads no file
    /// while all nodes are heard, and decides nothing while the directory of the run can't be listed.
    /// \param contact what the network shows of a node
    std::optional<int> check_for_silent_node(std::function<NodeContact(int node)> const& contact = {});
    /// The index of a node on which, at the last check, a task had ended because the slurmstepd of the step
    /// was gone there, as its wrapper has recorded, and no task was known to live. srun does not learn of
    /// this end. The other nodes may wait for this one for ever.
    std::optional<int> find_node_without_slurmstepd() const;
    /// Whether the last check has found the file of a node.
    bool has_file(int node) const { return nodes_[static_cast<std::size_t>(node)].has_file(); }
    /// Whether the last check has found a node whose file has not changed for some checks, or no file of any
    /// node.
    bool is_any_overdue() const;
    /// Restarts the count of unchanged checks, after this process itself was delayed.
    void restart();

private:
    struct NodeState {
        std::int64_t heartbeat_ns = unseen;
        int unchanged = 0;
        bool has_begun = false;
        bool has_ended = false;
        bool may_have_failed = false;  // no heartbeat file, not heard, and the record of a failure

        static constexpr std::int64_t unseen = 0, missing = -1;  // it should have a file
        bool has_file() const { return heartbeat_ns != unseen && heartbeat_ns != missing; }
    };
    NodeState check(int node, NodeContact contact, NodeFiles const& files) const;

    RunLayout run_;
    std::vector<NodeState> nodes_;
    int checks_without_any_ = 0;
};

}  // namespace det::launch::supervisor
