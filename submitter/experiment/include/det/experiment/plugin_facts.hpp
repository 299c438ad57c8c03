#pragma once
#include <det/foundation/result.hpp>
#include <det/site/check.hpp>

namespace det::experiment {

/// Reads plugstack.conf and the files that it includes, and the file of our plugin. Does not run the plugin.
site::PluginFacts find_plugin(slurm::ClusterConfig const& config);

}  // namespace det::experiment
