#pragma once
#include <det/transport/node_monitor.hpp>

#include <chrono>
#include <string_view>

namespace det::launch::supervisor {

/// What is known about a node that has connected to the supervisor and is silent now.
struct NodeSilence {
    enum class Slurm {
        not_asked,
        says_nothing,  // slurmctld does not answer, or does not say that the node is lost
        lost,          // slurmctld says that the node is down, or does not respond
    };

    transport::NodeMonitor::Node node;
    std::chrono::milliseconds limit;  // slurm.node_timeout
    bool is_on_supervisors_host = false;
    Slurm slurm = Slurm::not_asked;
};

enum class SilenceVerdict {
    wait,  // nothing shows that the node is lost: its file decides later, as for nodes that never connect
    ask_slurm,  // what Slurm says decides
    gone,       // no process of the run listens there: gone, unless they have ended in order (GoneNodes)
    lost,       // the node is down, or cut off from the others
};

struct JudgedSilence {
    SilenceVerdict verdict;
    std::string_view reason;  // why, after the name of the node; empty while the time is not over
};

/// Decides whether a silent node is lost. Silence alone is no reason, because the node may be suspended or
/// loaded, or the network to this host may be cut. Pure.
JudgedSilence judge_silence(NodeSilence const& silent);

}  // namespace det::launch::supervisor
