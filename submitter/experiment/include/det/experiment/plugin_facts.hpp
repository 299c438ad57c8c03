#pragma once
#include <det/foundation/result.hpp>
#include <det/site/check.hpp>

namespace det::experiment {

/// Collects what `site check` reports about the SPANK plugin: reads plugstack.conf, the files that it
/// includes and the plugin's shared object. Does not load the plugin.
site::PluginFacts collect_plugin_facts(slurm::ClusterConfig const& config);

}  // namespace det::experiment
