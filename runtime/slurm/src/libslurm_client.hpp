#pragma once
#include <det/slurm/command_client.hpp>

#include <memory>

namespace det::codes {
inline constexpr ErrorCode slurm_backend{"slurm-backend", ExitCode::could_not};
}

namespace det::slurm {

/// The path of the libslurm module, and what to do if the module is unusable.
struct LibslurmOptions {
    std::filesystem::path module;  // det_libslurm.so
    enum class Fallback { commands, error } fallback = Fallback::commands;
    CallTimeouts timeouts = {};
};

/// A SlurmClient that queries the queue, the partitions, the nodes and the configuration with libslurm, which
/// is faster. All other requests are commands, so that the site's filters apply to changes. Errors are those
/// of CommandClient, and slurm_backend if libslurm is required but unusable.
class LibslurmClient final : public SlurmClient {
public:
    LibslurmClient(ProcessRunner& runner, Environment environment, Clock& clock, LibslurmOptions options);
    ~LibslurmClient() override;

    Result<std::vector<JobStatus>> query_queue(QueueFilter const& filter) override;
    Result<std::optional<JobStatus>> query_job(JobRef const& job) override;
    Result<std::vector<Partition>> query_partitions() override;
    Result<std::vector<Node>> query_nodes() override;
    Result<ClusterConfig> query_cluster_config() override;
    Result<std::uint32_t> query_running_job_id(JobRef const& job) override;
    Result<Accounting> query_accounting(std::string const& user, std::string const& cluster) override;
    Result<std::vector<FairShare>> query_fair_shares(std::string const& user) override;
    Result<std::vector<JobExecution>> query_executions(std::vector<std::uint32_t> const& jobs) override {
        return commands_.query_executions(jobs);
    }

    Result<std::string> test_submission(Submission const& submission) override {
        return commands_.test_submission(submission);
    }
    Result<std::uint32_t> submit(Submission const& submission) override {
        return commands_.submit(submission);
    }
    Status hold(JobRef const& job) override { return commands_.hold(job); }
    Status release(JobRef const& job) override { return commands_.release(job); }
    void prepare_release() override { commands_.prepare_release(); }
    Status cancel(JobRef const& job) override { return commands_.cancel(job); }
    Status cancel_pending_tasks(JobRef const& array) override {
        return commands_.cancel_pending_tasks(array);
    }
    Status cancel_step(JobRef const& job, std::string_view name) override {
        return commands_.cancel_step(job, name);
    }
    Result<JobScript> query_script(JobRef const& job) override { return commands_.query_script(job); }
    Status cancel_steps(JobRef const& job) override { return commands_.cancel_steps(job); }
    Status update_job(JobRef const& job, JobChange const& change) override {
        return commands_.update_job(job, change);
    }
    Status move_to_top(std::vector<JobRef> const& jobs) override { return commands_.move_to_top(jobs); }
    Status signal_batch(JobRef const& job, std::string_view signal) override {
        return commands_.signal_batch(job, signal);
    }
    Status requeue(JobRef const& job, RequeueScope scope) override { return commands_.requeue(job, scope); }
    Status requeue_held(JobRef const& job) override { return commands_.requeue_held(job); }
    Status start_not_before(JobRef const& job, std::chrono::seconds from_now) override {
        return commands_.start_not_before(job, from_now);
    }

private:
    class Reader;

    CommandClient commands_;
    std::unique_ptr<Reader> reader_;
};

}  // namespace det::slurm
