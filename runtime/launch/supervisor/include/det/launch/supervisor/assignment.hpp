#pragma once
#include <det/foundation/environment.hpp>
#include <det/lifecycle/run_end.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/layout.hpp>
#include <det/slurm/job.hpp>

#include <filesystem>
#include <string>

namespace det::launch::supervisor {

/// What this job is to run, and as what in Slurm.
struct Assignment {
    ExperimentLayout experiment;
    ExperimentSpec spec;
    std::uint32_t first_trial =
        0;  // its own one, or, where trials share a node, where it looks for free ones
    slurm::JobRef job;
    lifecycle::Incarnation incarnation;
    std::string hosts;  // of the job, compressed, batch host first
    int cpus_per_node = 1;
    std::int64_t memory_per_node_mib = 0;  // 0: Slurm does not count it
    std::string cluster;
    std::string partition;

    int lanes() const { return static_cast<int>(spec.lanes); }
    /// Whether its last run was recorded as the end of that trial.
    Result<bool> has_ended(std::uint32_t trial) const;
};

/// From the arguments of `det-launch trial`, the experiment's spec, and what Slurm tells a batch job.
Result<Assignment> load_assignment(std::filesystem::path const& experiment, std::uint32_t first_trial,
                                   Environment const& environment);

}  // namespace det::launch::supervisor
