#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster_paths.hpp"
#include "site_profile.hpp"
#include "slurm_release.hpp"

namespace det::loopback {

enum class Proctrack { cgroup, linuxproc };
enum class Plugin { off, when_built };

inline std::string_view to_string(Proctrack proctrack) {
    return proctrack == Proctrack::cgroup ? "cgroup" : "linuxproc";
}

inline std::optional<Proctrack> parse_proctrack(std::string_view text) {
    for (auto const proctrack : {Proctrack::cgroup, Proctrack::linuxproc}) {
        if (text == to_string(proctrack)) return proctrack;
    }
    return std::nullopt;
}

/// The options of 'cluster up'.
struct ClusterOptions {
    int nodes = 4;
    int slots = 4;                            // fake GPUs per node
    std::optional<int> cpus = {};             // CPUs per node
    int grace_s = 30;                         // GraceTime of partition compute
    std::optional<Proctrack> proctrack = {};  // nullopt: cgroup if available, else linuxproc
    Plugin plugin = Plugin::when_built;
    std::string slurm = installed_slurm;  // or a release of the table in slurm_release.cpp
    SiteProfile profile = plain_profile();
    std::vector<ConfigLine> slurm_options = {};

    /// The default is two CPUs per slot and at least 8. Slurm does not check it against the real number.
    int cpus_per_node() const { return cpus.value_or(slots * 2 > 8 ? slots * 2 : 8); }
};

inline constexpr int nodes_max = 16;
inline constexpr int slots_max = 16;

/// What 'cluster up' passes to the init process. The init process reads everything else from the state
/// directory.
struct InitOptions {
    ClusterPaths paths;
    int nodes;
    int slots;
    int cpus;  // per node
    Proctrack proctrack;
    std::filesystem::path software;  // the build tree
    SlurmInstallation slurm;
    SiteProfile profile;
};

}  // namespace det::loopback
