#pragma once
#include <det/foundation/result.hpp>
#include <det/slurm/cluster_config.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace det::plan {

/// One job array of an experiment. Task i begins with the trials from first_trial + i * lanes.
struct JobArray {
    std::uint32_t first_trial = 0;
    std::uint32_t trial_count = 1;
    std::uint32_t running_max = 1;  // tasks that run at once
    std::uint32_t lanes = 1;        // trials that a task runs side by side
    std::uint32_t tasks_max = 0;    // tasks that claim trials one by one; 0: a task per `lanes` trials

    std::uint32_t task_count() const { return tasks_max > 0 ? tasks_max : (trial_count + lanes - 1) / lanes; }

    /// Returns the value of sbatch --array: "0-999%4".
    std::string indices() const;
    friend bool operator==(JobArray const&, JobArray const&) = default;
};

/// The number of trials to run, and how many of them run at the same time.
struct TrialLoad {
    std::uint32_t trial_count = 1;
    std::uint32_t running_max = 1;                // trials
    std::uint32_t lanes = 1;                      // trials in a task
    std::optional<std::uint32_t> tasks_max = {};  // of the experiment; empty: no limit
};

/// Splits the trials into as few arrays as Slurm's MaxArraySize allows, all of nearly the same size. The
/// number of running tasks is shared in proportion to the sizes; each array runs at least one task, so that
/// with more arrays than running_max more tasks run at once. More tasks than tasks_max become one array of
/// tasks that claim the trials: as many as run at once, and at most tasks_max. Pure.
std::vector<JobArray> split_into_arrays(TrialLoad const& load, std::uint32_t array_size_max);

/// \return The number of lanes of a job, at most lanes_max, such that no lane of a running job is empty and
/// at most running_max trials run at the same time. Pure.
std::uint32_t balance_lanes(std::uint32_t lanes_max, std::uint32_t running_max);

/// \return The maximum number of tasks of an array (MaxArraySize); an Error if arrays are disabled, or if
/// there are more trials than slurmctld can hold jobs (MaxJobCount). Pure.
Result<std::uint32_t> array_size_max(slurm::ClusterConfig const& cluster, std::uint32_t trial_count);

/// \return The maximum number of tasks of one array (SchedulerParameters=max_array_tasks); empty: there is no
/// limit besides MaxArraySize. Pure.
std::optional<std::uint32_t> array_tasks_max(slurm::ClusterConfig const& cluster);

}  // namespace det::plan
