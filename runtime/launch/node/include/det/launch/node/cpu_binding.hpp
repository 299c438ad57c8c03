#pragma once
#include <det/protocol/bind_policy.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace det::launch::node {

/// A core that a task may use.
struct Core {
    int numa_node = -1;     // -1: not known
    std::vector<int> cpus;  // its hardware threads that the task may use
};

/// The position of a rank among those of its node.
struct RankOnNode {
    int local_rank = 0;
    int local_size = 1;
};

/// Chooses the CPUs to which a rank is bound. Pure.
/// \param cores those of the task that the ranks of the node share
/// \param gpu_numa_nodes the NUMA node of each rank's GPU, in the order of the ranks; -1: not known
/// \return The numbers of the CPUs in ascending order; empty: the rank is not bound, because the policy says
///     so, because there are fewer cores than ranks, or because the map does not name the rank.
std::vector<int> choose_cpus(BindPolicy const& policy, RankOnNode rank, std::vector<Core> cores,
                             std::vector<int> const& gpu_numa_nodes);

/// The NUMA node of the cores of each rank if the ranks of a node share its cores equally; -1: the cores are
/// on several nodes, or the node is not known. Pure.
std::vector<int> numa_nodes_of_equal_shares(std::vector<Core> const& cores, int local_size);

/// Parses a list of CPUs as Linux writes it: "0-3,8". What is not a number or a range is left out.
std::vector<int> parse_cpu_list(std::string_view text);
/// Renders numbers in ascending order as Linux does.
std::string render_cpu_list(std::vector<int> const& numbers);

}  // namespace det::launch::node
