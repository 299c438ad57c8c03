#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/process.hpp>
#include <det/slurm/client.hpp>

#include <memory>

namespace det::slurm {

/// How long a command may take. Slurm's commands themselves repeat a request that slurmctld does not answer:
/// sbatch for more than two minutes, which must not be cut short, because a killed sbatch may have submitted.
struct CallTimeouts {
    std::chrono::milliseconds submission = std::chrono::seconds(150);
    std::chrono::milliseconds other = std::chrono::seconds(20);
};

/// Reads DET_SBATCH_TIMEOUT_S and DET_SLURM_TIMEOUT_S; codes::usage if a value is not an integer from 1
/// to 3600. Pure.
Result<CallTimeouts> parse_call_timeouts(Environment const& environment);

/// A SlurmClient that runs Slurm's commands. It works with every release, and the site's filters and defaults
/// apply.
class CommandClient final : public SlurmClient {
public:
    CommandClient(ProcessRunner& runner, Environment environment);
    /// \param clock for the pause before a query is repeated.
    CommandClient(ProcessRunner& runner, Environment environment, Clock& clock, CallTimeouts timeouts = {});
    CommandClient(CommandClient const&) = delete;
    CommandClient& operator=(CommandClient const&) = delete;

    Result<std::string> test_submission(Submission const& submission) override;
    Result<std::uint32_t> submit(Submission const& submission) override;
    Status hold(JobRef const& job) override;
    Status release(JobRef const& job) override;
    void prepare_release() override;
    Status cancel(JobRef const& job) override;
    Status cancel_pending_tasks(JobRef const& array) override;
    Status cancel_step(JobRef const& job, std::string_view name) override;
    Status cancel_steps(JobRef const& job) override;
    Result<JobScript> query_script(JobRef const& job) override;
    Status update_job(JobRef const& job, JobChange const& change) override;
    Status move_to_top(std::vector<JobRef> const& jobs) override;
    Status signal_batch(JobRef const& job, std::string_view signal) override;
    Result<std::vector<JobStatus>> query_queue(QueueFilter const& filter) override;
    Result<std::optional<JobStatus>> query_job(JobRef const& job) override;
    Result<std::vector<Partition>> query_partitions() override;
    Result<std::vector<Node>> query_nodes() override;
    Result<ClusterConfig> query_cluster_config() override;
    Result<std::uint32_t> query_running_job_id(JobRef const& job) override;
    Result<Accounting> query_accounting(std::string const& user, std::string const& cluster) override;
    Result<std::vector<FairShare>> query_fair_shares(std::string const& user) override;
    Result<std::vector<JobExecution>> query_executions(std::vector<std::uint32_t> const& jobs) override;
    Status requeue(JobRef const& job, RequeueScope scope) override;
    Status requeue_held(JobRef const& job) override;
    Status start_not_before(JobRef const& job, std::chrono::seconds from_now) override;

private:
    struct Step {
        std::string id, name;
    };
    Result<std::vector<Step>> query_steps(JobRef const& job);
    Result<ProcessOutput> call(std::vector<std::string> argv);
    Result<ProcessOutput> run_command(Command const& command);
    /// Runs a command whose output is not needed; `name` is used in error messages.
    Status run(std::string_view name, std::vector<std::string> argv);
    std::vector<Result<ProcessOutput>> call_all(std::vector<std::vector<std::string>> argvs,
                                                Environment const& environment);
    /// Cancels a job that another cluster of a federation could run, and returns the error that says so.
    Error refuse_federation(std::uint32_t job);
    /// Runs commands that change nothing. Repeats them if slurmctld does not answer for a moment.
    std::vector<Result<ProcessOutput>> query_all_with_retries(
        std::vector<std::vector<std::string>> const& argvs, Environment const& environment);
    Result<ProcessOutput> query_with_retries(std::vector<std::string> argv);
    Result<ProcessOutput> call_sbatch(Submission const& submission, std::vector<std::string> const& extra);

    ProcessRunner& runner_;
    SystemClock system_clock_;
    Clock& clock_;
    Environment environment_;
    CallTimeouts timeouts_;
    std::unique_ptr<WaitingProgram> waiting_scontrol_;  // of prepare_release()
};

}  // namespace det::slurm
