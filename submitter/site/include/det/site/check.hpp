#pragma once
#include <det/config/site_file.hpp>
#include <det/site/spank_plugin.hpp>
#include <det/slurm/cluster_config.hpp>
#include <det/slurm/partition.hpp>

#include <string>
#include <vector>

namespace det::site {

/// A setting of the cluster that must change for experiments (`change`) or that an administrator should know
/// (`note`).
struct Finding {
    enum class Severity { change, note };
    Severity severity = Severity::note;
    std::string subject;  // "partition 'gpu'", "pool 'a100'", "Slurm", "the plugin"
    std::string what;
    std::string why;
    std::string file;    // where to change it: "slurm.conf", "sacctmgr"; empty: nothing to change
    std::string change;  // the line to write, or what to do
};

/// The installed SPANK plugin. It is optional.
struct PluginFacts {
    std::string plugstack;    // the path of plugstack.conf
    std::string why_unknown;  // why plugstack.conf could not be read; empty: it was read
    std::optional<PlugstackLine> line;
    bool is_object_there = false;
    bool is_wrapper_there = false;
    std::optional<std::uint32_t> built_for;
};

/// Compares the site file with the live cluster.
/// \return Findings about the default pools, then about the pools in their order, then about Slurm's
/// settings, then about the plugin. Pure.
std::vector<Finding> check_site(config::SiteFile const& file, std::vector<slurm::Partition> const& partitions,
                                slurm::ClusterConfig const& config, PluginFacts const& plugin);

}  // namespace det::site
