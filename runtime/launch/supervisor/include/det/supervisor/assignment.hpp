#pragma once
#include <det/foundation/environment.hpp>
#include <det/lifecycle/run_end.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/layout.hpp>
#include <det/slurm/job.hpp>

#include <filesystem>
#include <string>

namespace det::supervisor {

/// Which trial this job is to run, and as what in Slurm.
struct Assignment {
    ExperimentLayout experiment;
    ExperimentSpec spec;
    TrialId trial;
    slurm::JobRef job;
    lifecycle::Incarnation incarnation;
    std::string hosts;  // of the job, compressed, batch host first
    int cpus_per_node = 1;
    std::string cluster;
};

/// From the arguments of `det-launch trial`, the experiment's spec, and what Slurm tells a batch job.
Result<Assignment> load_assignment(std::filesystem::path const& experiment, std::uint32_t trial_index,
                                   Environment const& environment);

}  // namespace det::supervisor
