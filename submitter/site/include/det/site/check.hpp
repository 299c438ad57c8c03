#pragma once
#include <det/config/site_file.hpp>
#include <det/site/spank_plugin.hpp>
#include <det/slurm/cluster_config.hpp>
#include <det/slurm/partition.hpp>

#include <string>
#include <vector>

namespace det::site {

/// Something about a cluster that experiments need otherwise, or would like otherwise.
struct Finding {
    enum class Severity { change, note };
    Severity severity = Severity::note;
    std::string subject;  // "partition 'gpu'", "pool 'a100'", "Slurm", "the plugin"
    std::string what;
    std::string why;
    std::string file;    // which one to change: "slurm.conf"; empty: nothing to change
    std::string change;  // the line to put there
};

/// What was found of the SPANK plugin. It is optional: jobs do without it.
struct PluginFacts {
    std::string plugstack;    // the path of plugstack.conf
    std::string why_unknown;  // it could not be read; empty: it was
    std::optional<PlugstackLine> line;
    bool is_object_there = false;
    bool is_wrapper_there = false;
    std::optional<std::uint32_t> built_for;
};

/// File and live cluster against each other: pools first, in their order, then Slurm's settings, then the
/// plugin. Pure.
std::vector<Finding> check_site(config::SiteFile const& file, std::vector<slurm::Partition> const& partitions,
                                slurm::ClusterConfig const& config, PluginFacts const& plugin);

}  // namespace det::site
