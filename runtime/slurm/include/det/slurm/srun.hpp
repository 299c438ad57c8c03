#pragma once
#include <det/protocol/experiment_spec.hpp>

#include <string>
#include <vector>

namespace det::slurm {

/// A step on all nodes of a job. Every count is said, since a node range or a default of srun's differs
/// between releases and between jobs.
struct StepRequest {
    TrialShape shape;
    Launch launch = Launch::node;
    Mpi mpi = Mpi::none;
    int cpus_per_node = 1;
    std::vector<std::string> command;
};

/// The srun command line.
std::vector<std::string> render_srun(StepRequest const& request);

}  // namespace det::slurm
