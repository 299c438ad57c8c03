#include <det/foundation/count_text.hpp>
#include <det/foundation/text.hpp>
#include <det/site/check.hpp>
#include <det/site/site.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "check_slurm_settings.hpp"

namespace det::site {
namespace {

using slurm::Partition;

/// The input of the checks of a pool. `entry` is null for a pool that is not in the site file.
struct PoolCheck {
    Pool const& pool;
    config::PoolEntry const* entry;
    Partition const& partition;
    slurm::ClusterConfig const& config;

    std::string subject() const { return fmt::format("pool '{}'", pool.name); }
    /// \return The line to write: "PartitionName=gpu ... GraceTime=120".
    std::string partition_line(std::string_view setting) const {
        return fmt::format("PartitionName={} ... {}", partition.name, setting);
    }
};

Finding change_needed(PoolCheck const& each, std::string what, std::string why, std::string file,
                      std::string change) {
    return {Finding::Severity::change, each.subject(),   std::move(what), std::move(why),
            std::move(file),           std::move(change)};
}

bool is_preempted_by_partition(PoolCheck const& each) {
    auto const type = each.config.find("PreemptType").value_or("");
    return type.ends_with("partition_prio") && each.partition.preempt_mode != "OFF";
}

void check_state(PoolCheck const& each, Findings& found) {
    if (each.partition.is_up) return;
    found.push_back({Finding::Severity::note, each.subject(),
                     fmt::format("partition '{}' is not up", each.partition.name), "its jobs wait", "", ""});
}

void check_nodes(PoolCheck const& each, Findings& found) {
    if (!each.pool.kinds.empty()) return;
    auto const why = "nothing can run there";
    if (each.partition.node_count() == 0) {
        found.push_back(change_needed(each, fmt::format("partition '{}' has no nodes", each.partition.name),
                                      why, "slurm.conf", each.partition_line("Nodes=...")));
        return;
    }
    found.push_back(
        change_needed(each, "no node of its partition has what the pool asks for", why, "site.yaml",
                      "constraint and gpu_type as the nodes have them: see 'sinfo -o \"%N %f %G\"'"));
}

void check_preempt_mode(PoolCheck const& each, Findings& found) {
    auto const& mode = each.partition.preempt_mode;
    if (mode.find("SUSPEND") != std::string::npos || mode.find("GANG") != std::string::npos) {
        found.push_back(change_needed(each, fmt::format("PreemptMode is {}", mode),
                                      "a suspended job keeps its GPUs and its memory", "slurm.conf",
                                      each.partition_line("PreemptMode=REQUEUE")));
    } else if (mode.find("CANCEL") != std::string::npos && is_preempted_by_partition(each)) {
        found.push_back({Finding::Severity::note, each.subject(), "PreemptMode is CANCEL",
                         "trials queue themselves again; where they can't in time, REQUEUE does it for them",
                         "slurm.conf", each.partition_line("PreemptMode=REQUEUE")});
    }
}

void check_grace(PoolCheck const& each, Findings& found) {
    auto const wanted = grace_time_wanted_s(each.entry);
    if (!is_preempted_by_partition(each) || each.partition.grace_time.count() >= wanted) return;
    auto const kill_wait = each.config.find_number("KillWait").value_or(30);
    auto const has_none = each.partition.grace_time.count() == 0;
    found.push_back(change_needed(
        each,
        fmt::format("GraceTime is {} s, trials here need {} s", each.partition.grace_time.count(), wanted),
        has_none ? fmt::format("a preempted trial has KillWait, {} s, to save its work", kill_wait)
                 : "a preempted trial may be killed before its work is saved",
        "slurm.conf", each.partition_line(fmt::format("GraceTime={}", wanted))));
}

void check_sharing(PoolCheck const& each, Findings& found) {
    if (!each.pool.is_exclusive && each.pool.has_only_whole_nodes) {
        found.push_back(change_needed(each, "exclusive is false, and OverSubscribe is EXCLUSIVE",
                                      "its jobs get whole nodes", "slurm.conf",
                                      each.partition_line("OverSubscribe=NO")));
    }
    if (!each.pool.is_exclusive || !each.partition.oversubscribe.starts_with("FORCE")) return;
    found.push_back(change_needed(each, fmt::format("OverSubscribe is {}", each.partition.oversubscribe),
                                  "it takes --exclusive away: trials would share their nodes with others",
                                  "slurm.conf", each.partition_line("OverSubscribe=NO")));
}

void check_slots(PoolCheck const& each, Findings& found) {
    if (each.pool.slot_type == SlotType::cpu || each.pool.kinds.empty()) return;
    if (!each.pool.has_gres) {
        found.push_back(change_needed(
            each, "Slurm knows of no GPUs on its nodes",
            "jobs can't ask for them, and two jobs may be given the same ones", "slurm.conf and gres.conf",
            fmt::format("GresTypes=gpu; NodeName=... Gres=gpu:{}; gres.conf: AutoDetect=nvml",
                        each.pool.slots_per_node)));
        return;
    }
    auto const wanted = each.entry != nullptr ? each.entry->slots_per_node : std::nullopt;
    auto const most = each.pool.kinds.front().slots_per_node;
    if (!wanted || *wanted <= most) return;
    found.push_back(change_needed(
        each, fmt::format("slots_per_node is {}, its nodes have {}", *wanted, count_text(most, "GPU")),
        fmt::format("trials get the {} that there are", most), "site.yaml",
        fmt::format("slots_per_node: {}", most)));
}

/// Reports slots that are guessed, because Slurm hides the nodes.
void check_hidden_nodes(PoolCheck const& each, Findings& found) {
    bool const is_stated = each.entry != nullptr && each.entry->slot_type && each.entry->slots_per_node;
    if (each.partition.has_node_facts || each.pool.kinds.empty() || is_stated) return;
    if (each.pool.may_have_hidden_gpus) {
        found.push_back(change_needed(
            each, "PrivateData=nodes hides its nodes, and the partition does not count their GPUs",
            "its slots are CPUs, and jobs ask for no GPUs", "site.yaml",
            "slot_type: cuda (or cpu) and slots_per_node; or slurm.conf: AccountingStorageTRES=gres/gpu"));
    } else if (each.pool.slot_type != SlotType::cpu) {
        found.push_back({Finding::Severity::note, each.subject(),
                         fmt::format("PrivateData=nodes hides its nodes: {} a node is their average",
                                     count_text(each.pool.slots_per_node, "GPU")),
                         "nodes may have more or fewer", "site.yaml", "slot_type and slots_per_node"});
    }
}

void check_memory(PoolCheck const& each, Findings& found) {
    auto const consumes = each.config.find("SelectTypeParameters").value_or("").find("MEMORY");
    bool const is_counted = consumes != std::string::npos;
    bool const has_default = each.partition.has_default_memory || has_default_memory(each.config);
    if (!is_counted || has_default || each.pool.has_whole_memory) return;
    found.push_back(change_needed(each,
                                  "whole_memory is false, and there is no DefMemPerNode or DefMemPerCPU",
                                  "a job that requests no memory gets all memory of a node", "slurm.conf",
                                  each.partition_line("DefMemPerCPU=4000")));
}

/// Reports that a memory limit gives whole-node jobs only a part of a node's memory.
void check_memory_limit(PoolCheck const& each, Findings& found) {
    if (!each.pool.has_whole_memory) return;
    auto pool = each.pool;
    apply_cluster_memory_limit(pool, each.config);
    for (auto const& kind : pool.kinds) {
        auto const limit = memory_limit_mib(pool, kind);
        if (!limit) continue;
        auto const name = pool.memory_max.per_node_mib ? "MaxMemPerNode" : "MaxMemPerCPU";
        found.push_back(
            {Finding::Severity::note, each.subject(),
             fmt::format("{} gives a job {} MiB of the {} MiB of a node", name, *limit, kind.memory_mib),
             "trials get no more than that", "slurm.conf", each.partition_line("MaxMemPerNode=UNLIMITED")});
    }
}

void check_limits(PoolCheck const& each, Findings& found) {
    auto const& most = each.pool.limits.nodes_per_trial_max;
    if (!most || !each.partition.nodes_max || *most <= *each.partition.nodes_max) return;
    found.push_back({Finding::Severity::note, each.subject(),
                     fmt::format("limits.nodes_per_trial is {}, the partition's MaxNodes {}", *most,
                                 *each.partition.nodes_max),
                     "the smaller one counts", "site.yaml",
                     fmt::format("limits: {{nodes_per_trial: {}}}", *each.partition.nodes_max)});
}

void check_time_limit(PoolCheck const& each, Findings& found) {
    auto const& wanted = each.pool.limits.time_max;
    auto const most = config::parse_time_limit_s(each.partition.time_max);
    if (!wanted || !most) return;
    if (auto const seconds = config::parse_time_limit_s(*wanted); !seconds || *seconds <= *most) return;
    found.push_back(change_needed(
        each, fmt::format("limits.time is {}, the partition's MaxTime {}", *wanted, each.partition.time_max),
        "trials get the limit of the pool unless they ask for less, and Slurm refuses it or never starts "
        "them",
        "site.yaml", fmt::format("limits: {{time: {}}}", each.partition.time_max)));
}

/// Jobs that share a node must not see each other's GPUs.
void check_device_isolation(PoolCheck const& each, Findings& found) {
    bool const shares_gpus = !each.pool.is_exclusive && each.pool.slot_type != SlotType::cpu;
    if (!shares_gpus || each.config.find("ConstrainDevices").value_or("yes") != "no") return;
    found.push_back(change_needed(each, "exclusive is false, and ConstrainDevices is no",
                                  "a job can open the GPUs of the other jobs on its node", "cgroup.conf",
                                  "ConstrainDevices=yes; slurm.conf: TaskPlugin=task/cgroup"));
}

constexpr void (*pool_checks[])(PoolCheck const&, Findings&) = {
    check_state,        check_nodes,  check_preempt_mode, check_grace,
    check_sharing,      check_slots,  check_hidden_nodes, check_memory,
    check_memory_limit, check_limits, check_time_limit,   check_device_isolation,
};

void report_missing_partition(Pool const& pool, std::vector<Partition> const& partitions, Findings& found) {
    std::vector<std::string_view> names;
    std::vector<std::string> list;
    for (auto const& partition : partitions) {
        names.push_back(partition.name);
        list.push_back(partition.name);
    }
    auto const near = nearest_word(pool.partition, names);
    found.push_back(
        {Finding::Severity::change, fmt::format("pool '{}'", pool.name),
         fmt::format("there is no partition '{}'", pool.partition), "nothing can run there", "site.yaml",
         near ? fmt::format("partition: {}", *near) : fmt::format("partition: one of {}", join(list, ", "))});
}

void report_missing_default(Site const& site, std::string_view key, std::optional<std::string> const& name,
                            Findings& found) {
    if (!name || site.find_pool(*name) != nullptr) return;
    std::vector<std::string> list;
    for (auto const& pool : site.pools) list.push_back(pool.name);
    found.push_back({Finding::Severity::change, "the site file",
                     fmt::format("{}: there is no pool '{}'", key, *name),
                     "trials that name no pool are refused", "site.yaml",
                     fmt::format("{}: one of {}", key, join(list, ", "))});
}

}  // namespace

Findings check_site(config::SiteFile const& file, std::vector<Partition> const& partitions,
                    slurm::ClusterConfig const& config, PluginFacts const& plugin) {
    Findings found;
    auto site = make_site(partitions, file);
    apply_cluster_settings(site, config, std::nullopt);
    report_missing_default(site, "default_compute_pool", file.default_compute_pool, found);
    report_missing_default(site, "default_aux_pool", file.default_aux_pool, found);
    for (auto const& pool : site.pools) {
        auto const partition = std::find_if(partitions.begin(), partitions.end(),
                                            [&](auto const& each) { return each.name == pool.partition; });
        if (partition == partitions.end()) {
            report_missing_partition(pool, partitions, found);
            continue;
        }
        PoolCheck const each{pool, file.find_pool(pool.name), *partition, config};
        for (auto const check : pool_checks) check(each, found);
    }
    check_slurm_settings(file, config, found);
    check_plugin(plugin, config, found);
    return found;
}

}  // namespace det::site
