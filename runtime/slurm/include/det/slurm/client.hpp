#pragma once
#include <det/foundation/environment.hpp>
#include <det/slurm/cluster_config.hpp>
#include <det/slurm/job.hpp>
#include <det/slurm/node.hpp>
#include <det/slurm/partition.hpp>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace det::slurm {

/// What sbatch is asked to run. Options go on its command line, so that no text of a user lands in a script.
struct Submission {
    std::vector<std::string> options;
    std::filesystem::path script;
    Environment environment;  // the job's: exported as it is
};

/// Which jobs a queue reading is about.
struct QueueFilter {
    std::optional<std::string> user = {};
    std::vector<std::uint32_t> jobs = {};  // empty: all
    bool include_finished = false;         // as long as Slurm remembers them (MinJobAge)
};

/// What is to change of a job that waits; what is absent stays as it is.
struct JobChange {
    std::optional<std::int64_t> nice = {};       // an owner may raise it, and take it back down to 0
    std::optional<std::uint32_t> priority = {};  // operators only
    std::optional<std::string> partition = {};
    std::optional<std::string> excluded_nodes = {};  // a host list
    std::optional<std::uint32_t> running_tasks_max =
        {};  // of an array; refused to its owner since Slurm 23.02
};

/// Slurm, as far as we ask it anything. Errors: slurm_refused where it said no, slurm_unreachable where it
/// did not answer; what Slurm said is a note.
class SlurmClient {
public:
    virtual ~SlurmClient() = default;

    /// Whether the job would be accepted, and Slurm's estimate of when it starts ("" where it gives none).
    virtual Result<std::string> test_submission(Submission const& submission) = 0;
    virtual Result<std::uint32_t> submit(Submission const& submission) = 0;
    virtual Status hold(JobRef const& job) = 0;
    virtual Status release(JobRef const& job) = 0;
    virtual Status cancel(JobRef const& job) = 0;
    /// Of an array the tasks that have not begun.
    virtual Status cancel_waiting(JobRef const& array) = 0;
    virtual Status change(JobRef const& job, JobChange const& change) = 0;
    /// Before all other waiting jobs of the caller's; refused where the site has not enabled it.
    virtual Status move_to_top(std::vector<JobRef> const& jobs) = 0;
    /// The step of a job that was started under that name, if it is still there.
    virtual Status cancel_step(JobRef const& job, std::string_view name) = 0;
    /// To the batch script's process alone; signal is a name without SIG.
    virtual Status signal_batch(JobRef const& job, std::string_view signal) = 0;

    virtual Result<std::vector<JobStatus>> queue(QueueFilter const& filter) = 0;
    /// Nothing where Slurm does not know it, or has forgotten it.
    virtual Result<std::optional<JobStatus>> find_job(JobRef const& job) = 0;
    virtual Result<std::vector<Partition>> partitions() = 0;
    /// Each node once for each partition that it is in.
    virtual Result<std::vector<Node>> nodes() = 0;
    virtual Result<ClusterConfig> cluster_config() = 0;

    enum class RequeueScope {
        incomplete,  // leaves a job alone that was cancelled or timed out: atomic in slurmctld
        any,
    };
    virtual Status requeue(JobRef const& job, RequeueScope scope) = 0;
    /// Queued again, and held until somebody releases it. Leaves a job alone that was cancelled.
    virtual Status requeue_held(JobRef const& job) = 0;
    virtual Status start_not_before(JobRef const& job, std::chrono::seconds from_now) = 0;
};

}  // namespace det::slurm
