#pragma once
#include <det/slurm/accounting.hpp>
#include <det/slurm/cluster_config.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace det::site {

struct Pool;

/// What a job asks for that decides which limits it has. Empty: the user's default.
struct JobRequest {
    std::string account, qos;
};

/// The accounting database, as far as it decides how long jobs of a user may run, and the settings of
/// slurmctld about it.
struct JobAccounting {
    slurm::Accounting rows;
    std::string user;
    JobRequest of_environment = {};  // SBATCH_ACCOUNT, SBATCH_QOS
    bool enforces_limits = false;
    bool preempts_by_qos = false;
    std::string preempt_mode = {};  // of slurm.conf
    std::uint32_t kill_wait_s = 30;
};

/// How long the jobs of a pool may run, and what happens if they are preempted, as their QOS, that of their
/// partition and their association say. Empty strings: unknown, or no limit.
struct JobRules {
    std::string qos = {};
    std::string time_max = {};             // MaxWall: "2-00:00:00"
    std::string time_owner = {};           // who sets it: "QOS 'normal'"
    bool replaces_partition_time = false;  // the QOS has the flag PartitionTimeLimit
    std::string preempt_mode = {};         // of the QOS, "OFF" if no QOS preempts it; empty: not by QOS
    std::int64_t grace_time_s = 0;         // of the QOS
    /// The seconds between the notice of a preemption and the end; set if jobs are preempted by QOS.
    std::optional<std::uint32_t> notice_s = {};
};

/// \return The settings of slurmctld that JobAccounting has; its rows are empty. Pure.
JobAccounting job_accounting_of(slurm::ClusterConfig const& config);

/// \return The rules of a job in the pool: what it asks for itself precedes the pool's account and QOS, and
/// these precede the environment. Pure.
JobRules find_job_rules(JobAccounting const& accounting, Pool const& pool, JobRequest const& request = {});

}  // namespace det::site
