#pragma once
#include <det/slurm/job.hpp>
#include <det/slurm/partition.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace det::queue {

/// PriorityTier of the partitions. Slurm considers all jobs of a higher tier first.
class Tiers {
public:
    Tiers() = default;
    explicit Tiers(std::vector<slurm::Partition> const& partitions);
    void set(std::string partition, int tier) { tiers_[std::move(partition)] = tier; }
    /// \return The highest tier of a job's partitions "a,b"; 1, Slurm's default, for an unknown partition.
    int highest_of(std::string_view partitions) const;

private:
    std::map<std::string, int, std::less<>> tiers_;
};

/// True if nodes are allocated to the job, also while they boot or are released.
bool has_nodes(slurm::JobStatus const& job);
bool is_waiting(slurm::JobStatus const& job);
/// True if the job waits and does not start until it is released.
bool is_held(slurm::JobStatus const& job);

/// Sorts in Slurm's order: jobs with nodes, waiting jobs by tier, priority and number, held jobs.
std::vector<slurm::JobStatus> in_scheduling_order(std::vector<slurm::JobStatus> jobs, Tiers const& tiers);

}  // namespace det::queue
