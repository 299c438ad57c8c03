#pragma once
#include <det/launch/launchers/launchers.hpp>

// Functions that the plans of several launchers use.
namespace det::launch::launchers {

struct LauncherArguments {
    std::vector<std::string> overrides;  // the user's options for the launcher, appended to the plan's
    std::vector<std::string> command;    // the command of each rank
};

/// Splits `[OVERRIDE... --] COMMAND`. Replaces the command `--trial MODULE:CLASS` by the command of
/// Determined's harness. Overrides are present if the first argument is an option other than --trial; they
/// end at the first
/// "--".
Result<LauncherArguments> split_arguments(std::string_view launcher,
                                          std::vector<std::string> const& arguments);

/// Puts `det-wrap-rank RANK det-launch worker` in front of the command of a rank.
/// \param rank names of the variables that may hold the rank, separated by commas; the first that is set
///     counts
std::vector<std::string> worker_command(LaunchContext const& context, std::string_view rank,
                                        std::vector<std::string> const& command);

/// The run's nodes as expanded host names, the form that launchers take.
struct Nodes {
    std::vector<std::string> hosts;
    std::vector<int> slots;  // of each node
    int own = 0;             // index of this node

    bool is_chief() const { return own == 0; }
    bool is_single() const { return hosts.size() == 1; }
    int ranks() const;
    int ranks_before() const;  // on the nodes before this one
    std::vector<std::string> all_but_chief() const { return {hosts.begin() + 1, hosts.end()}; }
    int own_slots() const { return slots[static_cast<std::size_t>(own)]; }
};
Result<Nodes> read_nodes(RendezvousInfo const& rendezvous);

/// The name by which the ranks of a run connect to the first node: "localhost" on a single node, otherwise
/// its name with DET_HOST_SUFFIX.
std::string chief_name(Nodes const& nodes, Environment const& environment);

/// The plan of a node whose ranks are started from the chief's node.
LaunchPlan plan_waiting_node();

/// The port of the ranks' rendezvous: C10D_PORT, which the user may set; else MASTER_PORT, which was free on
/// the supervisor's node when the run began; else Determined's port number plus the first slot, so that
/// trials on one node use different ports.
Result<std::uint16_t> rendezvous_port(Environment const& environment);

/// Puts the directory in which `ssh` is det-rsh in front of PATH.
void use_remote_shell(LaunchPlan& plan, LaunchContext& context);

}  // namespace det::launch::launchers
