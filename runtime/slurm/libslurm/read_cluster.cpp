// SPDX-License-Identifier: GPL-2.0-or-later
// Reads partitions, nodes and configuration. Values have the text form of scontrol and sinfo.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "libslurm_compat.hpp"

namespace det::libslurm {
namespace {

std::string in_small_letters(char const* text) {
    std::string small(text == nullptr ? "" : text);
    std::transform(small.begin(), small.end(), small.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return small;
}

void hand_on(node_info_t const& node, char const* partition, Sink const& sink) {
    // The text is not freed: Slurm's headers have no function for that, and this process ends soon.
    auto const state = in_small_letters(slurm_node_state_string_complete(node.node_state));
    auto const main_state = in_small_letters(slurm_node_state_string(node.node_state));
    det_libslurm_node const out{node.name, partition,       state.c_str(),   main_state.c_str(),
                                node.gres, node.gres_used,  node.features,   node.reason,
                                node.cpus, used_cpus(node), node.real_memory};
    sink.node(sink.context, &out);
}

/// node_inx contains pairs of first and last index and ends with -1.
void send_nodes(partition_info_t const& partition, Nodes const& nodes, Sink const& sink) {
    std::span const all(nodes->node_array, nodes->record_count);
    for (auto const* pair = partition.node_inx; pair != nullptr && pair[0] >= 0; pair += 2) {
        for (auto index = pair[0]; index <= pair[1]; ++index) {
            auto const at = static_cast<std::size_t>(index);
            if (at < all.size() && all[at].name != nullptr) hand_on(all[at], partition.name, sink);
        }
    }
}

int load(Partitions& partitions, Nodes& nodes, uint16_t which) {
    auto const rc = slurm_load_partitions(0, partitions.out(), which);
    if (rc != SLURM_SUCCESS) return rc;
    return slurm_load_node(0, nodes.out(), SHOW_ALL | SHOW_DETAIL | SHOW_MIXED);
}

/// The preempt mode of a partition, or that of the cluster if the partition sets none.
char const* preempt_mode(partition_info_t const& partition, Config& config) {
    auto mode = partition.preempt_mode;
    if (mode == NO_VAL16) {
        if (config.get() == nullptr && slurm_load_ctl_conf(0, config.out()) != SLURM_SUCCESS) return "";
        mode = config->preempt_mode;
    }
    return slurm_preempt_mode_string(mode);
}

/// Formats OverSubscribe as scontrol does.
std::string oversubscribe(partition_info_t const& partition) {
    auto const jobs = std::to_string(partition.max_share & ~SHARED_FORCE);
    if (partition.max_share == 0) return "EXCLUSIVE";
    if ((partition.max_share & SHARED_FORCE) != 0) return "FORCE:" + jobs;
    return partition.max_share == 1 ? "NO" : "YES:" + jobs;
}

bool has_default_memory(partition_info_t const& partition) {
    std::string const defaults(partition.job_defaults_str == nullptr ? "" : partition.job_defaults_str);
    return (partition.def_mem_per_cpu & ~MEM_PER_CPU) != 0 ||
           defaults.find("DefMemPerGPU") != std::string::npos;
}

void hand_on(partition_info_t const& partition, Config& config, Sink const& sink) {
    auto const shared = oversubscribe(partition);
    det_libslurm_partition out{};
    out.name = partition.name;
    out.preempt_mode = preempt_mode(partition, config);
    out.oversubscribe = shared.c_str();
    out.qos = partition.qos_char;
    out.grace_time_s = partition.grace_time;
    out.nodes_max = partition.max_nodes;
    out.time_max_min = partition.max_time;
    out.priority_tier = partition.priority_tier;
    bool const is_per_cpu = (partition.max_mem_per_cpu & MEM_PER_CPU) != 0;
    auto const memory = partition.max_mem_per_cpu & ~MEM_PER_CPU;
    (is_per_cpu ? out.memory_per_cpu_max_mib : out.memory_per_node_max_mib) = memory;
    out.is_default = (partition.flags & PART_FLAG_DEFAULT) != 0;
    out.is_up = partition.state_up == PARTITION_UP;
    out.has_default_memory = has_default_memory(partition);
    sink.partition(sink.context, &out);
}

}  // namespace

char const* read_partitions(Sink const& sink) {
    Partitions partitions;
    Nodes nodes;
    Config config;
    if (load(partitions, nodes, 0) != SLURM_SUCCESS) return why();
    for (auto const& partition : std::span(partitions->partition_array, partitions->record_count)) {
        hand_on(partition, config, sink);
        send_nodes(partition, nodes, sink);
    }
    return nullptr;
}

char const* read_nodes(Sink const& sink) {
    Partitions partitions;
    Nodes nodes;
    if (load(partitions, nodes, SHOW_ALL) != SLURM_SUCCESS) return why();
    for (auto const& partition : std::span(partitions->partition_array, partitions->record_count)) {
        send_nodes(partition, nodes, sink);
    }
    return nullptr;
}

char const* read_config(Sink const& sink) {
    Config config;
    if (slurm_load_ctl_conf(0, config.out()) != SLURM_SUCCESS) return why();
    char* text = nullptr;
    std::size_t size = 0;
    auto* const stream = ::open_memstream(&text, &size);
    if (stream == nullptr) return "out of memory";
    slurm_print_ctl_conf(stream, config.get());
    std::fclose(stream);
    sink.text(sink.context, text, size);
    std::free(text);
    return nullptr;
}

}  // namespace det::libslurm
