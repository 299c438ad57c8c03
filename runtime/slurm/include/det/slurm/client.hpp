#pragma once
#include <det/foundation/environment.hpp>
#include <det/slurm/accounting.hpp>
#include <det/slurm/cluster_config.hpp>
#include <det/slurm/job.hpp>
#include <det/slurm/node.hpp>
#include <det/slurm/partition.hpp>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace det::slurm {

/// A script for sbatch. The options are passed on sbatch's command line, so that no user text is written into
/// the script.
struct Submission {
    std::vector<std::string> options;
    std::filesystem::path script;
    Environment environment;  // of the job; Slurm's variables of the calling job are removed from it
    /// Outside of a job the user's own variables of srun and MPI (SLURM_CPU_BIND, SRUN_CPUS_PER_TASK,
    /// PMIX_MCA_...) are kept for the job, as sbatch keeps them.
    bool keeps_step_variables = false;
};

/// Selects the jobs that a query of the queue returns.
struct QueueFilter {
    std::optional<std::string> user = {};
    std::vector<std::uint32_t> jobs = {};  // empty: all
    bool include_finished = false;         // slurmctld keeps them for MinJobAge
};

/// Changes of a job, which must be pending except for running_tasks_max, comment and is_requeueable; absent
/// fields stay as they are.
struct JobChange {
    std::optional<std::int64_t> nice = {};       // the owner may raise it, and lower it to 0
    std::optional<std::uint32_t> priority = {};  // operators only
    std::optional<std::string> partition = {};
    std::optional<std::string> excluded_nodes = {};  // a host list
    // As sbatch --time. The owner of a pending job may raise it up to the limit of the partition
    std::optional<std::string> time_limit = {};
    std::optional<std::uint32_t> running_tasks_max =
        {};  // of an array; since Slurm 23.02 its owner may not change it
    std::optional<std::string> comment = {};
    std::optional<bool> is_requeueable = {};  // sbatch --requeue or --no-requeue
};

/// The script of a batch job, and the host and session in which sbatch was called.
struct JobScript {
    std::string text;
    std::string command;       // the path of the script and its arguments, joined by blanks
    std::string submit_host;   // the host on which sbatch was called, as slurmctld names it
    pid_t submit_session = 0;  // the session of the process that has called sbatch, on that host
};

/// The requests to Slurm. Errors: slurm_refused if Slurm refuses, slurm_unreachable if slurmctld does not
/// answer; Slurm's message is a note of the error. By default (CallTimeouts) each command of Slurm takes at
/// most 20 s, and sbatch 150 s. A query that fails within 5 s because slurmctld does not answer is repeated,
/// for about half a minute at most; query_accounting() and query_executions() are not. submit():
/// codes::submission_unclear if sbatch timed out, so that the job may exist.
/// query_partitions() and query_nodes() return less where slurmctld hides its nodes from the user
/// (PrivateData=nodes). One thread at a time.
class SlurmClient {
public:
    virtual ~SlurmClient() = default;

    /// Runs `sbatch --test-only`. It also refuses a job that sbatch accepts, but that must wait for nodes
    /// that are down or drained. Returns sbatch's text with the estimated start; may be empty.
    virtual Result<std::string> test_submission(Submission const& submission) = 0;
    virtual Result<std::uint32_t> submit(Submission const& submission) = 0;
    virtual Status hold(JobRef const& job) = 0;
    virtual Status release(JobRef const& job) = 0;
    /// Announces a call of release(), so that the client can prepare it; none need follow. Another thread may
    /// call this during test_submission() and submit().
    virtual void prepare_release() {}
    virtual Status cancel(JobRef const& job) = 0;
    /// Cancels the pending tasks of an array.
    virtual Status cancel_pending_tasks(JobRef const& array) = 0;
    virtual Status update_job(JobRef const& job, JobChange const& change) = 0;
    /// Moves jobs before the caller's other pending jobs of the same partition, account and QOS. Slurm
    /// refuses if the site has not enabled it.
    virtual Status move_to_top(std::vector<JobRef> const& jobs) = 0;
    /// Cancels the steps that were started with that name. It is no error if there is none.
    virtual Status cancel_step(JobRef const& job, std::string_view name) = 0;
    /// Cancels all steps that srun has started in the job, but not the batch script.
    virtual Status cancel_steps(JobRef const& job) = 0;
    /// Sends a signal to the batch script's process only; signal is a name without SIG.
    virtual Status signal_batch(JobRef const& job, std::string_view signal) = 0;

    virtual Result<std::vector<JobStatus>> query_queue(QueueFilter const& filter) = 0;
    /// Empty if slurmctld has no record of the job: it keeps the record of an ended job for MinJobAge.
    virtual Result<std::optional<JobStatus>> query_job(JobRef const& job) = 0;
    /// The value of SLURM_JOB_ID in the job; each task of an array has a number of its own. no_such_job if
    /// the job does not run.
    virtual Result<std::uint32_t> query_running_job_id(JobRef const& job) = 0;
    /// Only of own jobs that wait or run.
    virtual Result<JobScript> query_script(JobRef const& job) = 0;
    virtual Result<std::vector<Partition>> query_partitions() = 0;
    /// Each node once for each of its partitions.
    virtual Result<std::vector<Node>> query_nodes() = 0;
    virtual Result<ClusterConfig> query_cluster_config() = 0;
    /// What the accounting database says about this user on this cluster. slurm_unreachable if the database
    /// does not answer or sacctmgr is not installed.
    virtual Result<Accounting> query_accounting(std::string const& user, std::string const& cluster) = 0;
    /// The fair shares of a user in his accounts on this cluster.
    virtual Result<std::vector<FairShare>> query_fair_shares(std::string const& user) = 0;
    /// The executions of jobs, and of all tasks of arrays, that Slurm's accounting knows. Fails if the site
    /// has no accounting.
    virtual Result<std::vector<JobExecution>> query_executions(std::vector<std::uint32_t> const& jobs) = 0;

    enum class RequeueScope {
        incomplete,  // only a job that has not ended; slurmctld checks that atomically
        any,         // also a job that has ended
    };
    virtual Status requeue(JobRef const& job, RequeueScope scope) = 0;
    /// Requeues the job and holds it until it is released. Does not affect a job that has ended.
    virtual Status requeue_held(JobRef const& job) = 0;
    virtual Status start_not_before(JobRef const& job, std::chrono::seconds from_now) = 0;
};

}  // namespace det::slurm
