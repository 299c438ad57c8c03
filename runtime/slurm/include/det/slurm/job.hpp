#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::slurm {

/// A job, or a task of an array. Slurm takes the bare job number of an array's last task for the whole array,
/// so every request about a task names it with its index.
struct JobRef {
    std::uint32_t job = 0;
    std::optional<std::uint32_t> task = {};
    friend auto operator<=>(JobRef const&, JobRef const&) = default;
};

std::string to_string(JobRef const& ref);  // "123_4", "123"
/// Parses "123" and "123_4". Also accepts "123_[0-3%2]", the pending tasks of an array, and "123+1", a
/// component of a heterogeneous job; both become the job alone.
std::optional<JobRef> parse_job_ref(std::string_view text);

/// The states of a job that this program distinguishes.
enum class JobState {
    pending,
    configuring,
    running,
    completing,
    suspended,
    completed,
    canceled,
    failed,
    timed_out,
    node_failed,
    preempted,
    other,
};

JobState parse_job_state(std::string_view text);
/// Whether a job in this state has ended. It runs again only if it is requeued.
bool is_over(JobState state);

/// The status of a job, with the values that squeue prints.
struct JobStatus {
    JobRef ref;
    JobState state = JobState::other;
    std::string state_text;  // the state as Slurm prints it
    std::string reason;      // "None", "Resources", "JobHeldUser" ...
    std::optional<UtcTime> preempt_time;
    // nullopt if Slurm shows none, after a requeue, and for a running job without a time limit
    std::optional<UtcTime> end_time;
    std::optional<UtcTime> start_time;
    std::optional<UtcTime> submit_time;
    std::uint32_t restarts = 0;
    // The node of the batch script, "" before the job starts; for other jobs the host that requested the job
    std::string batch_host;
    int nodes = 0;
    int cpus = 0;
    std::int64_t nice = 0;
    std::int64_t priority = 0;
    std::string user;
    std::string account;
    std::string qos;
    std::string node_list;  // "n[0-3]"
    std::string partition;
    std::string tres_per_node;  // "gres/gpu:4", "" if the job requests none
    std::string comment;        // free text of its owner
    std::string name;           // free text of its owner

    friend bool operator==(JobStatus const&, JobStatus const&) = default;
};

/// The job with this reference among `jobs`, if there is one.
std::optional<JobStatus> pick_job(std::vector<JobStatus> jobs, JobRef const& ref);

/// GPUs per node in "gres/gpu:tesla:4", "gpu:4(S:0-1)"; 0 if it names none.
int parse_gpu_count(std::string_view gres);

/// The value of SQUEUE_FORMAT2, in the syntax of squeue --Format. `separator` ends each field whose text
/// users choose. It must be unpredictable, so that no user can put it into a field.
std::string squeue_format(std::string_view separator);
/// Parses the output of squeue with that format and SLURM_TIME_FORMAT=%s.
Result<std::vector<JobStatus>> parse_squeue(std::string_view output, std::string_view separator);

}  // namespace det::slurm
