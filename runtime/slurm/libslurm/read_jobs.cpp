// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the queue. Values have the text form of squeue.
#include <algorithm>
#include <ctime>
#include <map>
#include <pwd.h>
#include <span>
#include <string>

#include "libslurm_compat.hpp"
#include "task_list.hpp"

namespace det::libslurm {
namespace {

/// Caches user names, because a name service may be slow.
class UserNames {
public:
    char const* of(slurm_job_info_t const& job) {
        auto const [entry, is_new] = names_.try_emplace(job.user_id);
        if (is_new) entry->second = find(job);
        return entry->second.c_str();
    }

private:
    static std::string find(slurm_job_info_t const& job) {
        if (auto const* const user = ::getpwuid(job.user_id)) return user->pw_name;
        return job.user_name != nullptr ? job.user_name : std::to_string(job.user_id);
    }

    std::map<uint32_t, std::string> names_;
};

bool is_in_queue(slurm_job_info_t const& job) {
    auto const base = job.job_state & JOB_STATE_BASE;
    return base == JOB_PENDING || base == JOB_RUNNING || base == JOB_SUSPENDED ||
           (job.job_state & JOB_COMPLETING) != 0;
}

bool is_wanted(slurm_job_info_t const& job, Request const& request) {
    if (job.job_id == 0) return false;
    if (request.include_finished == 0 && !is_in_queue(job)) return false;
    std::span<uint32_t const> const ids(request.jobs, request.job_count);
    return ids.empty() || std::any_of(ids.begin(), ids.end(), [&](uint32_t id) {
               return id == job.job_id || id == job.array_job_id || id == job.het_job_id;
           });
}

int64_t known_time(time_t time) { return time == static_cast<time_t>(INFINITE) ? 0 : time; }

/// The end time, or 0 for a job without a time limit, for which Slurm reports a time in the far future.
int64_t end_time(slurm_job_info_t const& job, time_t now) {
    return job.time_limit == INFINITE && job.end_time > now ? 0 : known_time(job.end_time);
}

det_libslurm_job describe(slurm_job_info_t const& job, UserNames& users, time_t now) {
    det_libslurm_job out{};
    bool const is_task = job.array_task_str != nullptr || job.array_task_id != NO_VAL;
    out.job = is_task ? job.array_job_id : job.het_job_id != 0 ? job.het_job_id : job.job_id;
    out.task = is_task ? job.array_task_id : DET_LIBSLURM_NO_TASK;
    out.restarts = job.restart_cnt;
    out.nodes = job.num_nodes;
    out.cpus = job.num_cpus;
    out.priority = job.priority;
    out.nice = int64_t{job.nice} - int64_t{NICE_OFFSET};
    out.preempt_time = known_time(job.preempt_time);
    out.end_time = end_time(job, now);
    out.start_time = known_time(job.start_time);
    out.submit_time = known_time(job.submit_time);
    out.state = slurm_job_state_string(job.job_state);
    out.reason = job.state_desc != nullptr ? job.state_desc
                                           : reason_text(static_cast<job_state_reason>(job.state_reason));
    out.batch_host = job.batch_flag != 0 ? job.batch_host : job.alloc_node;
    out.user = users.of(job);
    out.account = job.account;
    out.qos = job.qos;
    out.node_list = job.nodes;
    out.partition = job.partition;
    out.tres_per_node = job.tres_per_node;
    out.comment = job.comment;
    out.name = job.name;
    return out;
}

/// Sends one job per pending array task: Slurm stores all pending tasks of an array in one record.
char const* send_job(slurm_job_info_t const& job, det_libslurm_job out, Sink const& sink) {
    if (job.array_task_str == nullptr) {
        sink.job(sink.context, &out);
        return nullptr;
    }
    bool const is_list = for_each_task(job.array_task_str, [&](uint32_t index) {
        out.task = index;
        sink.job(sink.context, &out);
    });
    return is_list ? nullptr : "slurmctld sent a list of array tasks that is none";
}

/// Lets slurmctld filter the jobs if the request allows it.
int load(Request const& request, Jobs& jobs) {
    constexpr uint16_t flags = SHOW_ALL;
    if (request.job_count == 1) return load_job(slurm_load_job, jobs.out(), request.jobs[0], flags);
    if (request.user == nullptr) return slurm_load_jobs(0, jobs.out(), flags);
    return slurm_load_job_user(jobs.out(), ::getpwnam(request.user)->pw_uid, flags);
}

}  // namespace

char const* read_jobs(Request const& request, Sink const& sink) {
    if (request.user != nullptr && ::getpwnam(request.user) == nullptr) return "Invalid user";
    Jobs jobs;
    if (load(request, jobs) != SLURM_SUCCESS) {
        return errno == ESLURM_INVALID_JOB_ID ? nullptr : why();
    }
    UserNames users;
    auto const now = std::time(nullptr);
    for (auto const& job : std::span(jobs->job_array, jobs->record_count)) {
        if (!is_wanted(job, request)) continue;
        auto const out = describe(job, users, now);
        if (request.user != nullptr && std::string_view(out.user) != request.user) continue;
        if (auto const* const failed = send_job(job, out, sink)) return failed;
    }
    return nullptr;
}

}  // namespace det::libslurm
