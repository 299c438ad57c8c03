#pragma once
#include <det/protocol/directory_layout.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

namespace det::launch::supervisor {

/// When the heartbeat file of a node was changed; nullopt: there is none.
std::optional<std::int64_t> read_heartbeat_ns(std::filesystem::path const& file);

/// Detects nodes of a run that are silent, from the files that their wrappers touch periodically while they
/// are not connected to the supervisor. A node is silent if its file exists and has not changed for several
/// checks; a node without a file has not started, or has ended. If all nodes have ended but the step has not,
/// no process is left that could report that to srun, and the first node is reported as silent.
class HeartbeatMonitor {
public:
    /// Number of consecutive checks without a change after which a node is silent.
    static constexpr int checks_until_silent = 4;

    HeartbeatMonitor(RunLayout run, int nodes)
        : run_(std::move(run)), nodes_(static_cast<std::size_t>(nodes)) {}

    /// The index of a silent node. Call it at intervals longer than that of the heartbeats.
    /// \param is_heard returns whether the beats of a node come over the network: its file is not read then
    std::optional<int> check_for_silent_node(std::function<bool(int node)> const& is_heard = {});
    /// The index of a node that had ended at the last check, because the slurmstepd of the step was gone
    /// there, as its wrapper has recorded. srun does not learn of this end. The other nodes may wait for this
    /// one for ever.
    std::optional<int> find_node_without_slurmstepd() const;
    /// Whether the last check has found the file of a node.
    bool has_file(int node) const { return nodes_[static_cast<std::size_t>(node)].heartbeat_ns != 0; }
    /// Whether the last check has found a node whose file has not changed for some checks, or no file of any
    /// node.
    bool is_any_overdue() const;
    /// Restarts the count of unchanged checks, after this process itself was delayed.
    void restart();

private:
    struct NodeState {
        std::int64_t heartbeat_ns = 0;
        int unchanged = 0;
        bool has_begun = false;
        bool has_ended = false;
    };
    RunLayout run_;
    std::vector<NodeState> nodes_;
    int checks_without_any_ = 0;
};

}  // namespace det::launch::supervisor
