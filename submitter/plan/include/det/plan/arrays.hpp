#pragma once
#include <det/foundation/result.hpp>
#include <det/slurm/cluster_config.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace det::plan {

/// One job array of an experiment: its task i runs trial first_trial + i.
struct ArrayPart {
    std::uint32_t first_trial = 0;
    std::uint32_t trial_count = 1;
    std::uint32_t running_max = 1;  // tasks that run at once

    /// As sbatch takes it: "0-999%4".
    std::string indices() const;
    friend bool operator==(ArrayPart const&, ArrayPart const&) = default;
};

/// As few arrays as Slurm's MaxArraySize allows, all of nearly one size. They share running_max
/// by their sizes; each has at least one, so that more arrays than running_max run more than that at once.
/// Pure.
std::vector<ArrayPart> split_into_arrays(std::uint32_t trial_count, std::uint32_t running_max,
                                         std::uint32_t array_size_max);

/// How many tasks an array of this cluster may have (MaxArraySize); an Error where arrays are switched off,
/// or where slurmctld can't hold so many jobs at all (MaxJobCount). Pure.
Result<std::uint32_t> array_size_max(slurm::ClusterConfig const& cluster, std::uint32_t trial_count);

}  // namespace det::plan
