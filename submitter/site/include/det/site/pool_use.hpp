#pragma once
#include <det/site/site.hpp>
#include <det/slurm/job.hpp>
#include <det/slurm/node.hpp>

namespace det::site {

/// How much of a pool is in use.
struct PoolUse {
    int nodes = 0;
    int nodes_free = 0;  // completely free and available to jobs now
    int nodes_out = 0;   // drained, down or in maintenance
    int slots = 0;
    int slots_used = 0;
    int slots_out = 0;  // of nodes that are out
    int jobs_running = 0;
    int jobs_waiting = 0;
};

/// Counts the nodes and slots of the pool, and the jobs in its partition; if the pool has a QOS, only the
/// jobs with this QOS. Pure.
PoolUse count_use(Pool const& pool, std::vector<slurm::Node> const& nodes,
                  std::vector<slurm::JobStatus> const& jobs);

}  // namespace det::site
