#pragma once
#include <det/site/check.hpp>
#include <det/site/site.hpp>
#include <det/slurm/accounting.hpp>

#include <string>
#include <vector>

namespace det::site {

/// The owner of a job, whose limits apply to it. An empty account or QOS is the user's default.
struct JobOwner {
    std::string user, account, partition, qos;
};

/// The resources of a job that limits count.
struct JobSize {
    std::int64_t nodes = 1;
    std::int64_t gpus_per_node = 0;
    std::string gpu_type = {};  // empty: any
};

/// A limit that a job exceeds by its size.
struct ExceededLimit {
    std::string whose;  // "account 'ml'", "QOS 'normal'"
    std::string name;   // "GrpTRES=gres/gpu=8", as sacctmgr writes it
    std::int64_t allowed = 0;
    std::int64_t asked = 0;
    std::string resource;  // "gres/gpu"
};

/// \return True if slurmctld holds jobs to the limits of associations and QOSs. Pure.
bool enforces_limits(slurm::ClusterConfig const& config);

/// \return The limits that the job exceeds by itself, so that it never starts. As in Slurm, a limit of the
/// QOS replaces the same limit of associations. Empty if the user has no association: Slurm refuses such a
/// job. Pure.
std::vector<ExceededLimit> find_exceeded_limits(slurm::Accounting const& accounting, JobOwner const& owner,
                                                JobSize const& size);

/// Compares the user's associations and limits in the accounting database with the pools. Pure.
std::vector<Finding> check_accounting(Site const& site, slurm::ClusterConfig const& config,
                                      slurm::Accounting const& accounting, std::string const& user);

}  // namespace det::site
