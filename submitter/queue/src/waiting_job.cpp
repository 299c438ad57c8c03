#include "waiting_job.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace det::queue {
namespace {

using slurm::JobStatus;

void add_task(WaitingJob& entry, JobStatus const& job) {
    if (job.priority > entry.priority) {
        entry.priority = job.priority;
        entry.nice = job.nice;
    }
    entry.lowest_priority = std::min(entry.lowest_priority, job.priority);
}

WaitingJob first_task(JobStatus const& job, QueueState const& queue, Caller const& caller) {
    bool const may_change = caller.rights == Rights::operators || job.user == caller.user;
    return {
        job.ref.job, job.user,     job.partition, job.account, job.qos, queue.tiers.highest_of(job.partition),
        job.nice,    job.priority, job.priority,  may_change};
}

Error why_not_movable(QueueState const& queue, std::uint32_t number) {
    auto const found = std::find_if(queue.jobs.begin(), queue.jobs.end(),
                                    [&](auto const& job) { return job.ref.job == number; });
    if (found == queue.jobs.end()) {
        return {codes::no_such_job, fmt::format("there is no job {} in the queue", number),
                "see 'det-submit job list'"};
    }
    if (is_held(*found)) {
        return {codes::job_not_waiting, fmt::format("job {} is held: it has no place in the queue", number),
                fmt::format("release it first: 'scontrol release {}'", number)};
    }
    return {codes::job_not_waiting, fmt::format("job {} does not wait: it is {}", number, found->state_text),
            "only jobs that wait can be moved"};
}

}  // namespace

std::vector<WaitingJob> waiting_jobs(QueueState const& queue, Caller const& caller) {
    std::vector<WaitingJob> entries;
    std::map<std::uint32_t, std::size_t> position;
    for (auto const& job : queue.jobs) {
        if (!is_waiting(job) || is_held(job)) continue;
        auto const [at, is_new] = position.emplace(job.ref.job, entries.size());
        if (is_new) {
            entries.push_back(first_task(job, queue, caller));
        } else {
            add_task(entries[at->second], job);
        }
    }
    std::sort(entries.begin(), entries.end(), [](WaitingJob const& a, WaitingJob const& b) {
        return a.tier != b.tier ? a.tier > b.tier : is_before(a.priority, a.job, b.priority, b.job);
    });
    return entries;
}

Result<WaitingJob> require_waiting_job(QueueState const& queue, Caller const& caller, std::uint32_t job) {
    for (auto& entry : waiting_jobs(queue, caller)) {
        if (entry.job == job) return std::move(entry);
    }
    return why_not_movable(queue, job);
}

}  // namespace det::queue
