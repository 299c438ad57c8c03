#pragma once
#include <det/protocol/experiment_spec.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace det::slurm {

/// What a step has of a job's node beside others.
struct StepShare {
    std::int64_t memory_mib = 0;  // 0: Slurm does not count it
};

/// A step of a job. Every count is said, since a node range or a default of srun's differs
/// between releases and between jobs.
struct StepRequest {
    TrialShape shape;
    Launch launch = Launch::node;
    Mpi mpi = Mpi::none;
    int cpus_per_node = 1;
    std::vector<std::string> command;
    std::vector<std::string> options = {};  // of other plugins
    std::string name = {};                // of the step; empty: the command's
    std::optional<StepShare> share = {};  // nothing: whole nodes
    std::string hosts = {};               // some of the job's nodes, compressed; empty: all of them
};

/// The srun command line.
std::vector<std::string> render_srun(StepRequest const& request);

/// One command on each of some nodes of a job that is running, beside whatever runs there.
struct CommandOnNodes {
    std::vector<std::string> nodes;
    std::string directory;  // to begin in; empty: ours
    int cpus = 1;
    int gpus = 0;
    bool has_input = true;  // ours; else none
    std::vector<std::string> command;
};
std::vector<std::string> render_srun(CommandOnNodes const& request);

}  // namespace det::slurm
