#pragma once
#include <det/foundation/result.hpp>
#include <det/slurm/cluster_config.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace det::plan {

/// One job array of an experiment: its task i begins with the trials from first_trial + i * lanes on.
struct JobArray {
    std::uint32_t first_trial = 0;
    std::uint32_t trial_count = 1;
    std::uint32_t running_max = 1;  // tasks that run at once
    std::uint32_t lanes = 1;        // trials that a task runs side by side

    std::uint32_t task_count() const { return (trial_count + lanes - 1) / lanes; }

    /// As sbatch takes it: "0-999%4".
    std::string indices() const;
    friend bool operator==(JobArray const&, JobArray const&) = default;
};

/// What is to be run, and how much of it at once.
struct TrialLoad {
    std::uint32_t trial_count = 1;
    std::uint32_t running_max = 1;  // trials
    std::uint32_t lanes = 1;        // trials in a task
};

/// As few arrays as Slurm's MaxArraySize allows, all of nearly one size. They share what may run at once by
/// their sizes; each has at least one task, so that more arrays than that run more at once. Pure.
std::vector<JobArray> split_into_arrays(TrialLoad const& load, std::uint32_t array_size_max);

/// How many lanes a job has that could hold so many, where running_max trials may run at once: no lane stays
/// empty in a job that runs, and never do more trials run than may. Pure.
std::uint32_t balance_lanes(std::uint32_t lanes_max, std::uint32_t running_max);

/// How many tasks an array of this cluster may have (MaxArraySize); an Error where arrays are switched off,
/// or where slurmctld can't hold so many jobs at all (MaxJobCount). Pure.
Result<std::uint32_t> array_size_max(slurm::ClusterConfig const& cluster, std::uint32_t trial_count);

}  // namespace det::plan
