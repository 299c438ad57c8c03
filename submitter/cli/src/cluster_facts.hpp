#pragma once
#include <det/slurm/cluster_config.hpp>
#include <det/slurm/partition.hpp>

#include <vector>

#include "session.hpp"

namespace det::cli {

/// What changes rarely and is needed at each creation: kept for a minute in the user's cache, so that a
/// script that creates many experiments asks slurmctld for little else than their jobs.
enum class Freshness { recent, now };

Result<std::vector<slurm::Partition>> find_partitions(Session& session, Freshness freshness);
Result<slurm::ClusterConfig> find_cluster_config(Session& session, Freshness freshness);

/// Where it is kept: DET_CACHE, else /var/tmp/det-<uid>.
std::filesystem::path find_cache(Environment const& environment);

}  // namespace det::cli
