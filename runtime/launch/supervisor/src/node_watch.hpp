#pragma once
#include <det/foundation/environment.hpp>
#include <det/launch/supervisor/supervise.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/transport/node_monitor.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heartbeats.hpp"
#include "node_silence.hpp"
#include "run_plan.hpp"

namespace det::launch::supervisor {

/// The numeric addresses of this host, under which nodes find the supervisor: those of the interfaces that
/// the site names come first.
std::vector<std::string> own_addresses(Environment const& environment);

/// The nodes of a run over the network: their beats come to a NodeMonitor, and here is decided which node is
/// lost (judge_silence). One thread.
class NodeWatch {
public:
    /// \return nullptr if the run has too many nodes, or if no port can be opened, which is logged
    static std::unique_ptr<NodeWatch> start(BatchJob const& batch_job, RunPlan const& run,
                                            RunLayout const& layout, SupervisorContext const& context);

    /// The value of DET_NODE_MONITOR for the run's step.
    std::string address() const;
    int fd() const { return monitor_->fd(); }
    struct Lost {
        int node;
        std::string host;
        bool is_node_lost;  // otherwise no process of the run listens there (SilenceVerdict::gone)
    };
    /// The nodes that are lost or gone. Logs what is known about silent nodes. May ask Slurm, at most twice a
    /// minute.
    std::vector<Lost> find_lost();
    /// Whether the processes of the run on all nodes but the lost ones have ended, in order or killed. A node
    /// that has another one as its parent, or that this host can't reach, does not show that it was killed.
    /// To be called after find_lost().
    bool have_others_ended(std::vector<std::string> const& lost_hosts) const;
    /// Whether the process of a node that sent its beats here was killed. To be called after find_lost().
    bool is_any_killed() const;
    /// Takes the present state of all nodes, for the functions below.
    void update() { nodes_ = monitor_->nodes(); }
    /// Whether the beats of the node come.
    bool is_heard(int node) const { return nodes_.at(static_cast<std::size_t>(node)).is_heard(); }
    NodeContact contact(int node) const;
    /// Whether a process of the node has ever connected.
    bool has_connected(int node) const;
    int count_connected() const;
    /// The nodes that have connected and have not said that their tasks have ended in order.
    /// \param with_absent also the nodes that have never connected
    std::vector<int> list_not_left(bool with_absent) const;
    /// A text that changes while ranks of the node make progress; nullopt if the node's file must be read.
    std::optional<std::string> find_activity(int node) const;
    /// Logs, once, the nodes that run and do not connect. Call it at each check of the heartbeat files.
    /// \param has_file whether a node has a heartbeat file
    void report_unconnected(std::function<bool(int node)> const& has_file);
    /// To be called when no newer run of the trial was found: see NodeMonitor.
    void confirm_newest_run(std::chrono::milliseconds valid_for) { monitor_->confirm_newest_run(valid_for); }
    /// How long the file of a node must stay as it is, or stay away, until its processes are gone
    /// (GoneNodes). A wrapper that is not connected makes it at most a sixth of the time of silence after it
    /// has noticed that, and touches it every sixth.
    static std::chrono::milliseconds gone_limit(BatchJob const& batch_job, Environment const& environment);
    /// Sends requests to all nodes with their next answers.
    void request(transport::NodeRequests requests) { monitor_->request(requests); }

private:
    NodeWatch(std::unique_ptr<transport::NodeMonitor> monitor, SupervisorContext const& context,
              std::string run, std::vector<std::string> hosts, std::optional<int> own,
              std::chrono::milliseconds limit);

    JudgedSilence judge(std::size_t node);
    NodeSilence::Slurm ask_slurm(std::string const& host);
    void log(std::vector<std::string> const& hosts, std::string_view what) const;

    std::unique_ptr<transport::NodeMonitor> monitor_;
    SupervisorContext const& context_;
    std::string run_;
    std::vector<std::string> hosts_;
    std::optional<int> own_;
    std::chrono::milliseconds limit_;
    std::vector<transport::NodeMonitor::Node> nodes_;
    std::vector<std::string> logged_;  // what was last logged about each node; empty: it is heard
    std::vector<int> unconnected_;     // for how many checks each node has had a file and no connection
    bool has_reported_unconnected_ = false;
    std::optional<std::chrono::steady_clock::time_point> asked_slurm_at_;
    bool has_slurm_answered_ = false;
    std::vector<std::string> lost_hosts_;  // as Slurm says
};

}  // namespace det::launch::supervisor
