#pragma once
#include <det/experiment/context.hpp>
#include <det/slurm/cluster_config.hpp>
#include <det/slurm/partition.hpp>

#include <vector>

namespace det::experiment {

/// Partitions and settings change rarely and are needed at each creation. They are cached for a minute, so
/// that a script that creates many experiments asks slurmctld only for their jobs. recent: the cache may
/// answer.
enum class Freshness { recent, current };

Result<std::vector<slurm::Partition>> load_partitions(Context& context, Freshness freshness);
Result<slurm::ClusterConfig> load_cluster_config(Context& context, Freshness freshness);

/// The directory of the cache: DET_CACHE, else /var/tmp/det-<uid>.
std::filesystem::path find_cache(Environment const& environment);

}  // namespace det::experiment
