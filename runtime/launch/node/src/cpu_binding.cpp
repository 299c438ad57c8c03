#include <det/foundation/text.hpp>
#include <det/launch/node/cpu_binding.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <span>

namespace det::launch::node {
namespace {

using Kind = BindPolicy::Kind;
using Cores = std::span<Core const>;

constexpr int cpu_number_max = 1 << 20;

/// The share `index` of `count` equal shares of the cores; empty if there are fewer cores than shares.
Cores share_of(Cores cores, std::size_t index, std::size_t count) {
    if (cores.size() < count) return {};
    auto const begin = cores.size() * index / count;
    return cores.subspan(begin, cores.size() * (index + 1) / count - begin);
}

std::vector<int> cpus_of(Cores cores) {
    std::vector<int> cpus;
    for (auto const& core : cores) cpus.insert(cpus.end(), core.cpus.begin(), core.cpus.end());
    std::ranges::sort(cpus);
    return cpus;
}

/// The cores of a NUMA node. `cores` are sorted by their node.
Cores on_numa_node(Cores cores, int numa_node) {
    auto const [begin, end] = std::ranges::equal_range(cores, numa_node, {}, &Core::numa_node);
    return {begin, end};
}

/// The share of the cores beside the rank's GPU. Ranks whose GPUs are at the same NUMA node divide its cores
/// in the order of the ranks.
/// \return Nothing if this is not possible for every rank of the node: then none of them may take cores that
///     another rank gets by another rule.
std::optional<Cores> share_beside_gpu(Cores cores, std::size_t local_rank,
                                      std::vector<int> const& gpu_numa_nodes) {
    for (auto const numa_node : gpu_numa_nodes) {
        auto const ranks = static_cast<std::size_t>(std::ranges::count(gpu_numa_nodes, numa_node));
        if (numa_node < 0 || on_numa_node(cores, numa_node).size() < ranks) return std::nullopt;
    }
    auto const own = gpu_numa_nodes[local_rank];
    auto const before = std::span(gpu_numa_nodes).first(local_rank);
    return share_of(on_numa_node(cores, own), static_cast<std::size_t>(std::ranges::count(before, own)),
                    static_cast<std::size_t>(std::ranges::count(gpu_numa_nodes, own)));
}

/// All cores of the NUMA node of the rank's GPU, or, if there are none, of the first core of its share.
Cores cores_of_numa_node(Cores cores, Cores share, int gpu_numa_node) {
    auto const beside_gpu = on_numa_node(cores, gpu_numa_node);
    if (gpu_numa_node >= 0 && !beside_gpu.empty()) return beside_gpu;
    if (share.empty()) return {};
    return on_numa_node(cores, share.front().numa_node);
}

}  // namespace

std::vector<int> choose_cpus(BindPolicy const& policy, RankOnNode rank, std::vector<Core> cores,
                             std::vector<int> const& gpu_numa_nodes) {
    if (rank.local_rank < 0 || rank.local_rank >= rank.local_size) return {};
    auto const index = static_cast<std::size_t>(rank.local_rank);
    auto const count = static_cast<std::size_t>(rank.local_size);
    std::erase_if(cores, [](Core const& core) { return core.cpus.empty(); });
    std::ranges::sort(cores, {}, [](Core const& core) {
        return std::pair(core.numa_node, *std::ranges::min_element(core.cpus));
    });
    auto const share = share_of(cores, index, count);
    bool const has_gpus = gpu_numa_nodes.size() == count;
    switch (policy.kind) {
        case Kind::none:
            return {};
        case Kind::cores:
            return cpus_of(share);
        case Kind::numa:
            return cpus_of(cores_of_numa_node(cores, share, has_gpus ? gpu_numa_nodes[index] : -1));
        case Kind::automatic: {
            auto const beside_gpu = has_gpus ? share_beside_gpu(cores, index, gpu_numa_nodes) : std::nullopt;
            return cpus_of(beside_gpu.value_or(share));
        }
        case Kind::map:
            if (index >= policy.map.size()) return {};
            return cpus_of(share_of(cores, static_cast<std::size_t>(policy.map[index]), policy.map.size()));
    }
    return {};
}

std::vector<int> numa_nodes_of_equal_shares(std::vector<Core> const& cores, int local_size) {
    std::map<int, int> node_of_cpu;
    for (auto const& core : cores) {
        for (auto const cpu : core.cpus) node_of_cpu[cpu] = core.numa_node;
    }
    std::vector<int> nodes;
    for (int rank = 0; rank < local_size; ++rank) {
        std::set<int> found;
        for (auto const cpu : choose_cpus({Kind::cores}, {rank, local_size}, cores, {}))
            found.insert(node_of_cpu[cpu]);
        nodes.push_back(found.size() == 1 ? *found.begin() : -1);
    }
    return nodes;
}

std::vector<int> parse_cpu_list(std::string_view text) {
    std::vector<int> numbers;
    for (auto const part : split(trim(text), ',')) {
        auto const dash = part.find('-');
        auto const first = parse_integer<int>(part.substr(0, dash));
        auto const last = dash == std::string_view::npos ? first : parse_integer<int>(part.substr(dash + 1));
        if (!first || !last || *first < 0 || *last > cpu_number_max) continue;
        for (int number = *first; number <= *last; ++number) numbers.push_back(number);
    }
    return numbers;
}

std::string render_cpu_list(std::vector<int> const& numbers) {
    std::string text;
    for (std::size_t begin = 0; begin < numbers.size();) {
        auto end = begin + 1;
        while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
        if (!text.empty()) text += ',';
        text += end - begin == 1 ? fmt::format("{}", numbers[begin])
                                 : fmt::format("{}-{}", numbers[begin], numbers[end - 1]);
        begin = end;
    }
    return text;
}

}  // namespace det::launch::node
