#pragma once
#include <det/slurm/job.hpp>
#include <det/slurm/partition.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace det::queue {

/// Partitions come before priorities: all jobs of a higher tier are looked at first.
class Tiers {
public:
    Tiers() = default;
    explicit Tiers(std::vector<slurm::Partition> const& partitions);
    void set(std::string partition, int tier) { tiers_[std::move(partition)] = tier; }
    /// Of "a,b", which a job may say, the higher one; 1, Slurm's default, where it is not known.
    int of(std::string_view partitions) const;

private:
    std::map<std::string, int, std::less<>> tiers_;
};

/// It has nodes, or is being given or leaves them.
bool has_nodes(slurm::JobStatus const& job);
bool is_waiting(slurm::JobStatus const& job);
/// It waits, and no turn comes until somebody releases it.
bool is_held(slurm::JobStatus const& job);

/// As Slurm serves them: those with nodes, those that wait by tier, priority and number, those that are held.
std::vector<slurm::JobStatus> in_scheduling_order(std::vector<slurm::JobStatus> jobs, Tiers const& tiers);

}  // namespace det::queue
