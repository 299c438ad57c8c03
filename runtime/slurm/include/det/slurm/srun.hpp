#pragma once
#include <det/protocol/experiment_spec.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace det::slurm {

/// The share of a node that a step gets if other steps of the job use the node too.
struct StepShare {
    std::int64_t memory_mib = 0;  // 0: Slurm does not manage memory
};

/// A step of a job. Every count is given, because srun's defaults differ between releases and between jobs.
struct StepRequest {
    TrialShape shape;
    Launch launch = Launch::node;
    std::string mpi = "none";  // as LaunchOptions::mpi
    int cpus_per_node = 1;
    std::vector<std::string> command;
    std::vector<std::string> options = {};  // further options of srun, which override those of the step
    std::string name = {};                  // of the step; empty: the name of the command
    std::optional<StepShare> share = {};    // empty: whole nodes
    std::string hosts = {};   // some of the job's nodes, as a compressed host list; empty: all of them
    bool has_gres = true;     // false: Slurm does not manage the GPUs, and refuses requests for them
    bool binds_ranks = true;  // false: srun binds no rank, because the ranks' wrappers do
};

/// The srun command line.
std::vector<std::string> render_srun(StepRequest const& request);

/// A command to run on some nodes of a running job, once per node, beside the job's other steps.
struct CommandOnNodes {
    std::vector<std::string> nodes;
    std::string directory;  // working directory; empty: the current one
    int cpus = 1;
    int gpus = 0;
    bool has_input = true;  // standard input of this process; false: none
    std::vector<std::string> command;
    std::vector<std::string> options = {};  // further options of srun
};
std::vector<std::string> render_srun(CommandOnNodes const& request);

/// A command that a process outside of a running job runs on one node of the job, beside its steps.
struct CommandInJob {
    std::uint32_t job = 0;  // as SLURM_JOB_ID there
    std::string node;
    int gpus = 0;
    bool has_terminal = false;  // srun gives the command a terminal (--pty)
    std::vector<std::string> command;
};
std::vector<std::string> render_srun(CommandInJob const& request);

/// The commands of Slurm that every node of a job must have. Jobs also start sinfo, and work without it.
std::vector<std::string> required_slurm_commands();

}  // namespace det::slurm
