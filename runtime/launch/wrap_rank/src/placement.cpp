#include "placement.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/node/node_topology.hpp>
#include <det/launch/node/run_directory.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/rank_placement.hpp>

#include <fcntl.h>

namespace det::launch::wrap_rank {
namespace {

std::vector<int> gpu_nodes_of_ranks(node::RankOnNode rank, Environment const& environment) {
    return node::numa_nodes_of_ranks(node::read_gpu_numa_nodes(), rank.local_size, environment);
}

}  // namespace

void bind_rank(node::RankOnNode rank, Environment const& environment) {
    auto const policy = parse_bind_policy(environment.find(variables::bind).value_or(""));
    if (!policy || policy->kind == BindPolicy::Kind::none) return;
    auto const cpus = node::choose_cpus(*policy, rank, node::read_cores(node::own_cpus()),
                                        gpu_nodes_of_ranks(rank, environment));
    // A CPU may have gone offline since: the rank then runs unbound, which trial describe shows.
    if (!cpus.empty()) (void)node::bind_to_cpus(cpus);
}

void record_placement(std::string const& rank, node::RankOnNode position, std::filesystem::path const& log,
                      Environment const& environment) {
    auto const number = parse_integer<std::uint32_t>(rank);
    if (!number) return;
    auto const cpus = node::own_cpus();
    RankPlacement placement{*number, node::node_name(environment), node::render_cpu_list(cpus),
                            node::numa_nodes_of(cpus)};
    auto const gpu_nodes = gpu_nodes_of_ranks(position, environment);
    auto const index = static_cast<std::size_t>(position.local_rank);
    if (index < gpu_nodes.size() && gpu_nodes[index] >= 0) placement.gpu_numa_node = gpu_nodes[index];
    UniqueFd const file(
        ::open(RunLayout::placements_beside(log).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (file) share_new_file(file.get(), log);
    if (file) (void)write_all(file.get(), render_rank_placement(placement), "where the rank runs");
}

}  // namespace det::launch::wrap_rank
