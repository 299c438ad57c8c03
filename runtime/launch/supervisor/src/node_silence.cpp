// A silent node is acted upon if a second witness agrees with its silence:
//
// - Slurm, which says that the node is down or does not respond.
// - The node's own host, which refuses the connection to a port at which the processes of the run listened:
//   they are gone, or have ended in order and could not say so. Which of both, its file shows.
// - Another node of the run, which does not reach the host either. A host that is up answers a connection
//   even if all its processes are suspended, so a loaded node is never lost this way. If the other node
//   reaches the host, only the network to the supervisor is cut.
//
// If no other node can be asked (a run of two nodes, or all are silent at once), the supervisor's own network
// may be the cause, also if slurmctld answers, which is often reached by another network. Only what Slurm
// says about the node counts then, and later its file.
//
// An attempt that fails says nothing about a node that could not be reached when it joined: a firewall.
#include "node_silence.hpp"

namespace det::launch::supervisor {

using transport::Reach;

JudgedSilence judge_silence(NodeSilence const& silent) {
    using enum SilenceVerdict;
    using Slurm = NodeSilence::Slurm;
    auto const& node = silent.node;
    bool const is_silent =
        node.presence == transport::NodeMonitor::Presence::joined && node.silence >= silent.limit;
    if (!is_silent) return {wait, ""};
    if (silent.slurm == Slurm::lost)
        return {lost, "is silent, and Slurm says that it is down or not responding"};
    bool const must_ask = silent.slurm == Slurm::not_asked && !silent.is_on_supervisors_host;
    if (!node.can_be_reached)
        return {must_ask ? ask_slurm : wait,
                "is silent, and does not accept connections that would show whether it is up"};
    if (node.from_here == Reach::unknown) return {wait, ""};
    if (node.from_here == Reach::connected)
        return {wait, "is silent, but up: its processes may be suspended"};
    if (node.from_here == Reach::refused || node.from_peer == Reach::refused)
        return {gone, "is silent, and no process of the run listens there"};
    if (node.from_peer == Reach::unreachable)
        return {lost, "is silent, and neither the supervisor nor another node reaches it"};
    if (node.from_peer == Reach::connected)
        return {wait, "is up, but the network between it and the supervisor is cut"};
    if (must_ask) return {ask_slurm, "is silent, and no other node can say whether it is up"};
    return {wait, "is silent, and nothing shows whether it or the supervisor's network is the cause"};
}

}  // namespace det::launch::supervisor
