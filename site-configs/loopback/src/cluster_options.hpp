#pragma once
#include <optional>
#include <string>
#include <vector>

namespace det::loopback {

enum class Proctrack { cgroup, linuxproc };
enum class Plugin { off, when_built };

/// One line of slurm.conf.
struct ConfigLine {
    std::string key;
    std::string value;
    friend bool operator==(ConfigLine const&, ConfigLine const&) = default;
};

/// What 'cluster up' was asked for.
struct ClusterOptions {
    int nodes = 4;
    int slots = 4;                            // fake GPUs of each node
    std::optional<int> cpus = {};             // of each node
    int grace_s = 30;                         // GraceTime of partition compute
    std::optional<Proctrack> proctrack = {};  // nothing: cgroup where it can be
    Plugin plugin = Plugin::when_built;
    std::vector<ConfigLine> slurm_options = {};

    /// Two ranks and their helpers for each slot; Slurm is told to believe it.
    int cpus_per_node() const { return cpus.value_or(slots * 2 > 8 ? slots * 2 : 8); }
};

inline constexpr int nodes_max = 16;
inline constexpr int slots_max = 16;

}  // namespace det::loopback
