#pragma once
#include <det/launchers/launchers.hpp>

namespace det::launchers {

/// The run's nodes, spelled out: launchers want every name.
struct Nodes {
    std::vector<std::string> hosts;
    std::vector<int> slots;  // of each
    int own = 0;             // which of them this is

    bool is_chief() const { return own == 0; }
    bool is_single() const { return hosts.size() == 1; }
    int ranks() const;
    int ranks_before() const;  // on the nodes before this one
    std::vector<std::string> all_but_chief() const { return {hosts.begin() + 1, hosts.end()}; }
    int own_slots() const { return slots[static_cast<std::size_t>(own)]; }
};
Result<Nodes> read_nodes(RendezvousInfo const& rendezvous);

/// The plan of a node whose ranks the chief starts.
LaunchPlan wait_for_chief();

/// Where the ranks meet. C10D_PORT is the user's word; MASTER_PORT is the run's own, found free when the run
/// began; without either Determined's number, moved by the first slot, which differs between trials on one
/// node.
Result<std::uint16_t> meeting_port(Environment const& environment);

/// Puts the folder with our `ssh` in front of PATH.
void use_remote_shell(LaunchPlan& plan, Ground& ground);

}  // namespace det::launchers
