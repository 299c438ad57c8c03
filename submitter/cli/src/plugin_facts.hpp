#pragma once
#include <det/foundation/result.hpp>
#include <det/site/check.hpp>

namespace det::cli {

/// What plugstack.conf, and the files that it includes, say of our plugin, and what the plugin's file says.
/// Nothing of it is run.
site::PluginFacts find_plugin(slurm::ClusterConfig const& config);

}  // namespace det::cli
