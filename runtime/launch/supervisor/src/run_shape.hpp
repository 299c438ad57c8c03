#pragma once
#include <det/foundation/environment.hpp>
#include <det/launch/supervisor/batch_job.hpp>

#include <string>
#include <vector>

namespace det::launch::supervisor {

/// What a run uses of its job's allocation.
struct RunShape {
    TrialShape shape;                     // nodes: number of nodes of the run
    std::vector<std::string> hosts = {};  // in rank order: the first `shape.nodes` ones, or all of a script
    int task_nodes = 1;                   // number of nodes on which det-submit itself starts tasks

    /// Whether srun must be told the nodes, because the job has others too.
    bool is_part_of_job = false;
};

/// What Slurm has given a job.
struct JobAllocation {
    std::vector<std::string> hosts;            // batch host first
    std::vector<std::string> bad_hosts;        // hosts that the run should not use
    int gpus_per_node = 0;                     // 0: Slurm has allocated none
    std::vector<std::string> warm_hosts = {};  // hosts on which an interpreter waits (slurm.warm_start)
};

/// Decides the shape of a run, from what its job has. Pure.
///
/// A run of fixed size has the nodes of the specification; an elastic run has all nodes of its job except the
/// spare ones, but at least nodes_min and at most shape.nodes. Bad nodes are left out if enough good ones
/// remain: then an elastic run goes on with fewer nodes, and a run of fixed size uses spare nodes. If too few
/// remain, the run uses the first nodes of its job. A batch script has its whole job.
///
/// Of more good nodes than it needs, the run uses the batch host, where its ports were found free, then those
/// on which an interpreter waits, then the others; each time the first ones of the job. Their order is always
/// that of the job.
RunShape decide_run_shape(ExperimentSpec const& spec, JobAllocation const& allocation);

/// The allocation of a job. The hosts are those of SLURM_JOB_NODELIST; the GPUs are those of this node.
Result<JobAllocation> find_allocation(BatchJob const& batch_job, Environment const& job,
                                      std::vector<std::string> bad_hosts);

}  // namespace det::launch::supervisor
