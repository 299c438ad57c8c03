#pragma once
#include <det/foundation/clock.hpp>
#include <det/slurm/client.hpp>

#include <utility>

namespace det::tracker::api {

/// Reads from Slurm for many viewers. A query of the queue, the partitions or the nodes gets the answer, or
/// the error, that Slurm gave to the same query within `age_max`; other queries are sent to Slurm. Refuses
/// calls that change something. One thread at a time may use it.
class CachingSlurmClient final : public slurm::SlurmClient {
public:
    /// \param age_max how old an answer may be; 0: each query is sent
    CachingSlurmClient(slurm::SlurmClient& slurm, Clock& clock, std::chrono::milliseconds age_max)
        : slurm_(slurm), clock_(clock), age_max_(age_max) {}

    /// Sends the next queries to Slurm, whatever is known.
    void forget();

    Result<std::vector<slurm::JobStatus>> query_queue(slurm::QueueFilter const& filter) override;
    Result<std::vector<slurm::Partition>> query_partitions() override;
    Result<std::vector<slurm::Node>> query_nodes() override;
    Result<slurm::ClusterConfig> query_cluster_config() override { return slurm_.query_cluster_config(); }
    Result<std::optional<slurm::JobStatus>> query_job(slurm::JobRef const& job) override {
        return slurm_.query_job(job);
    }
    Result<std::uint32_t> query_running_job_id(slurm::JobRef const& job) override {
        return slurm_.query_running_job_id(job);
    }
    Result<slurm::Accounting> query_accounting(std::string const& user, std::string const& cluster) override {
        return slurm_.query_accounting(user, cluster);
    }
    Result<std::vector<slurm::FairShare>> query_fair_shares(std::string const& user) override {
        return slurm_.query_fair_shares(user);
    }
    Result<std::vector<slurm::JobExecution>> query_executions(
        std::vector<std::uint32_t> const& jobs) override {
        return slurm_.query_executions(jobs);
    }
    Result<std::string> test_submission(slurm::Submission const& submission) override {
        return slurm_.test_submission(submission);
    }

    Result<std::uint32_t> submit(slurm::Submission const&) override { return refusal(); }
    Status hold(slurm::JobRef const&) override { return refusal(); }
    Status release(slurm::JobRef const&) override { return refusal(); }
    Status cancel(slurm::JobRef const&) override { return refusal(); }
    Status cancel_pending_tasks(slurm::JobRef const&) override { return refusal(); }
    Status update_job(slurm::JobRef const&, slurm::JobChange const&) override { return refusal(); }
    Status move_to_top(std::vector<slurm::JobRef> const&) override { return refusal(); }
    Status cancel_step(slurm::JobRef const&, std::string_view) override { return refusal(); }
    Result<slurm::JobScript> query_script(slurm::JobRef const&) override { return refusal(); }
    Status cancel_steps(slurm::JobRef const&) override { return refusal(); }
    Status signal_batch(slurm::JobRef const&, std::string_view) override { return refusal(); }
    Status requeue(slurm::JobRef const&, RequeueScope) override { return refusal(); }
    Status requeue_held(slurm::JobRef const&) override { return refusal(); }
    Status start_not_before(slurm::JobRef const&, std::chrono::seconds) override { return refusal(); }

private:
    template <class Value>
    struct Answer {
        std::chrono::steady_clock::time_point time;
        Result<Value> value;
    };
    struct QueueAnswer {
        slurm::QueueFilter filter;
        Answer<std::vector<slurm::JobStatus>> answer;
    };

    static Error refusal();
    bool is_recent(std::chrono::steady_clock::time_point time) const;
    template <class Value, class Ask>
    Result<Value> recent(std::optional<Answer<Value>>& known, Ask&& ask);

    slurm::SlurmClient& slurm_;
    Clock& clock_;
    std::chrono::milliseconds age_max_;
    std::vector<QueueAnswer> queues_;
    std::optional<Answer<std::vector<slurm::Partition>>> partitions_;
    std::optional<Answer<std::vector<slurm::Node>>> nodes_;
};

}  // namespace det::tracker::api
