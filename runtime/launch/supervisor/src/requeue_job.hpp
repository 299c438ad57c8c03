#pragma once
#include <det/launch/supervisor/supervise.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace det::launch::supervisor {

/// How to requeue a job.
struct RequeueRequest {
    enum class Start { soon, held };
    // Without an explicit start time, Slurm delays a requeued job by two minutes. Slurm overwrites
    // StartTime=now when the requeue completes, so the start time is a few seconds later.
    static constexpr std::chrono::seconds soonest{5};

    Start start = Start::soon;
    bool is_completing = false;               // Slurm is already ending the job
    std::vector<std::string> bad_hosts = {};  // nodes that the job must not get again
    bool by_new_job = false;                  // submit a new job instead of requeueing this one
    std::chrono::seconds delay = soonest;     // until the job may start
    std::chrono::seconds timeout{0};  // how long requests are repeated while slurmctld does not answer
};

/// Requeues the job, or submits a new job for its array task: if by_new_job asks for that, or if Slurm
/// refuses the requeue (a job may have been changed to --no-requeue) and the job has not been cancelled.
/// Returns the number of the new job, if there is one.
Result<std::optional<std::uint32_t>> requeue_job(BatchJob const& batch_job, RequeueRequest const& request,
                                                 SupervisorContext const& context);

/// Gives a job that is queued again the time limit with which it was submitted. Slurm may have shortened it
/// (--time-min), and keeps the shorter one. Does nothing if the job's environment shows that it was not
/// shortened when it started; that of Slurm 22.05 does not show it.
void restore_time_limit(BatchJob const& batch_job, SupervisorContext const& context);

}  // namespace det::launch::supervisor
