#pragma once
#include <det/experiment/context.hpp>
#include <det/slurm/accounting.hpp>
#include <det/slurm/cluster_config.hpp>
#include <det/slurm/partition.hpp>

#include <vector>

namespace det::experiment {

/// Selects whether a cached value up to one minute old is good enough (recent) or Slurm must be asked
/// (current). Every creation needs the partitions and settings, which change rarely: with the cache, a script
/// that creates many experiments sends slurmctld only the requests about their jobs.
enum class Freshness { recent, current };

Result<std::vector<slurm::Partition>> query_partitions(Context& context, Freshness freshness);
Result<slurm::ClusterConfig> query_cluster_config(Context& context, Freshness freshness);
/// Whether Slurm shows jobs only to their owners (PrivateData=jobs); false if it does not answer.
bool hides_jobs_of_others(Context& context);

/// What the accounting database says about this user.
Result<slurm::Accounting> query_accounting(Context& context, slurm::ClusterConfig const& config,
                                           Freshness freshness);

/// The directory of the cache: DET_CACHE, else /var/tmp/det-<uid>.
std::filesystem::path cache_directory_of(Environment const& environment);

}  // namespace det::experiment
