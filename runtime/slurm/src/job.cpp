#include <det/foundation/text.hpp>
#include <det/slurm/job.hpp>

#include <fmt/format.h>
#include <utility>

namespace det::slurm {
namespace {

constexpr std::pair<std::string_view, JobState> states[] = {
    {"PENDING", JobState::pending},
    {"REQUEUED", JobState::pending},
    {"REQUEUE_HOLD", JobState::pending},
    {"SPECIAL_EXIT", JobState::pending},
    {"CONFIGURING", JobState::configuring},
    {"RUNNING", JobState::running},
    {"COMPLETING", JobState::completing},
    {"STAGE_OUT", JobState::completing},
    {"SUSPENDED", JobState::suspended},
    {"STOPPED", JobState::suspended},
    {"COMPLETED", JobState::completed},
    {"CANCELLED", JobState::canceled},
    {"REVOKED", JobState::canceled},
    {"FAILED", JobState::failed},
    {"OUT_OF_MEMORY", JobState::failed},
    {"BOOT_FAIL", JobState::node_failed},
    {"NODE_FAIL", JobState::node_failed},
    {"TIMEOUT", JobState::timed_out},
    {"DEADLINE", JobState::timed_out},
    {"PREEMPTED", JobState::preempted},
    {"SIGNALING", JobState::running},  // a signal to it is on its way
    {"RESIZING", JobState::running},   // it gives nodes back or gets more
    {"POWER_UP_NODE", JobState::configuring},
    {"REQUEUE_FED", JobState::pending},    // it is queued again in a federation
    {"RESV_DEL_HOLD", JobState::pending},  // its reservation was deleted
    {"EXPEDITING", JobState::pending},     // it is queued again with the highest priority
    {"LAUNCH_FAILED", JobState::failed},
};

std::optional<UtcTime> parse_epoch(std::string_view text) {
    auto const seconds = parse_integer<std::int64_t>(text);
    if (!seconds || *seconds <= 0) return std::nullopt;  // N/A, NONE, Unknown
    return UtcTime{*seconds * 1'000'000};
}

template <class T>
T number_or_zero(std::string_view text) {
    return parse_integer<T>(text).value_or(T{});
}

/// The empty text if squeue has printed one of its words for an empty value.
std::string_view value_or_empty(std::string_view text) {
    return text == "(null)" || text == "N/A" || text == "n/a" ? std::string_view{} : text;
}

/// A column of squeue: its name, and the member that it fills.
struct SqueueColumn {
    std::string_view name;
    void (*read)(JobStatus&, std::string_view);
};

/// Values of Slurm itself or of an administrator, which contain no bar.
constexpr SqueueColumn plain_columns[] = {
    {"JobArrayID", [](JobStatus& job, std::string_view t) { job.ref = parse_job_ref(t).value_or(JobRef{}); }},
    {"State",
     [](JobStatus& job, std::string_view t) {
         job.state = parse_job_state(t);
         job.state_text = t;
     }},
    {"PreemptTime", [](JobStatus& job, std::string_view t) { job.preempt_time = parse_epoch(t); }},
    {"EndTime", [](JobStatus& job, std::string_view t) { job.end_time = parse_epoch(t); }},
    {"StartTime", [](JobStatus& job, std::string_view t) { job.start_time = parse_epoch(t); }},
    {"SubmitTime", [](JobStatus& job, std::string_view t) { job.submit_time = parse_epoch(t); }},
    {"RestartCnt",
     [](JobStatus& job, std::string_view t) { job.restarts = number_or_zero<std::uint32_t>(t); }},
    {"NumNodes", [](JobStatus& job, std::string_view t) { job.nodes = number_or_zero<int>(t); }},
    {"NumCPUs", [](JobStatus& job, std::string_view t) { job.cpus = number_or_zero<int>(t); }},
    {"Nice", [](JobStatus& job, std::string_view t) { job.nice = number_or_zero<std::int64_t>(t); }},
    {"PriorityLong",
     [](JobStatus& job, std::string_view t) { job.priority = number_or_zero<std::int64_t>(t); }},
    {"BatchHost", [](JobStatus& job, std::string_view t) { job.batch_host = value_or_empty(t); }},
    {"UserName", [](JobStatus& job, std::string_view t) { job.user = t; }},
    {"Account", [](JobStatus& job, std::string_view t) { job.account = value_or_empty(t); }},
    {"QOS", [](JobStatus& job, std::string_view t) { job.qos = value_or_empty(t); }},
    {"NodeList", [](JobStatus& job, std::string_view t) { job.node_list = value_or_empty(t); }},
    {"Partition", [](JobStatus& job, std::string_view t) { job.partition = t; }},
};

/// Values that users and site plugins choose.
constexpr SqueueColumn free_columns[] = {
    {"tres-per-node", [](JobStatus& job, std::string_view t) { job.tres_per_node = value_or_empty(t); }},
    {"Reason", [](JobStatus& job, std::string_view t) { job.reason = t; }},
    {"Comment", [](JobStatus& job, std::string_view t) { job.comment = t == "(null)" ? "" : t; }},
    {"Name", [](JobStatus& job, std::string_view t) { job.name = t; }},
};

constexpr char bar[] = "|";

/// Removes and returns the text before `end`, and removes `end`.
std::optional<std::string_view> take_until(std::string_view& text, std::string_view end) {
    auto const at = text.find(end);
    if (at == std::string_view::npos) return std::nullopt;
    auto const taken = text.substr(0, at);
    text.remove_prefix(at + end.size());
    return taken;
}

/// Parses and removes the first row. False if there is none, or if it is malformed.
bool take_row(std::string_view& text, std::string_view separator, JobStatus& job) {
    auto plain = take_until(text, separator);
    if (!plain) return false;
    for (auto const& column : plain_columns) {
        auto const field = take_until(*plain, bar);
        if (!field) return false;
        column.read(job, *field);
    }
    if (!plain->empty() || job.ref.job == 0) return false;
    for (auto const& column : free_columns) {
        auto const field = take_until(text, separator);
        if (!field) return false;
        column.read(job, *field);
    }
    if (!text.starts_with('\n')) return false;
    text.remove_prefix(1);
    return true;
}

}  // namespace

std::string to_string(JobRef const& ref) {
    return ref.task ? fmt::format("{}_{}", ref.job, *ref.task) : std::to_string(ref.job);
}

std::optional<JobRef> parse_job_ref(std::string_view text) {
    text = text.substr(0, text.find('+'));  // "123+1", a part of a heterogeneous job: the job
    auto const underscore = text.find('_');
    auto const job = parse_integer<std::uint32_t>(text.substr(0, underscore));
    if (!job || *job == 0) return std::nullopt;
    if (underscore == std::string_view::npos) return JobRef{*job, {}};
    auto const index = text.substr(underscore + 1);
    if (index.starts_with('[')) return JobRef{*job, {}};
    auto const task = parse_integer<std::uint32_t>(index);
    if (!task) return std::nullopt;
    return JobRef{*job, task};
}

JobState parse_job_state(std::string_view text) {
    for (auto const& [name, state] : states) {
        if (name == text) return state;
    }
    return JobState::other;
}

bool is_over(JobState state) {
    switch (state) {
        case JobState::completed:
        case JobState::canceled:
        case JobState::failed:
        case JobState::timed_out:
        case JobState::node_failed:
        case JobState::preempted:
            return true;
        default:
            return false;
    }
}

std::optional<JobStatus> pick_job(std::vector<JobStatus> jobs, JobRef const& ref) {
    for (auto& job : jobs) {
        if (job.ref == ref) return std::move(job);
    }
    return std::nullopt;
}

int parse_gpu_count(std::string_view gres) {
    int count = 0;
    for (auto piece : split(gres, ',')) {
        // Slurm 22.05 writes "gres:gpu:4" for a job, 23.02 and later "gres/gpu:4".
        if (piece.starts_with("gres:") || piece.starts_with("gres/")) piece.remove_prefix(5);
        if (piece != "gpu" && !piece.starts_with("gpu:")) continue;
        piece = piece.substr(0, piece.find('('));
        auto const last = piece.substr(piece.rfind(':') + 1);
        count += parse_integer<int>(last).value_or(1);  // "gpu" and "gpu:tesla" are one
    }
    return count;
}

std::string squeue_format(std::string_view separator) {
    // Width 0: the field is not padded or truncated.
    std::string format;
    for (auto const& column : plain_columns)
        format += fmt::format("{}{}:0{}", format.empty() ? "" : ",", column.name, bar);
    format += separator;
    for (auto const& column : free_columns) format += fmt::format(",{}:0{}", column.name, separator);
    return format;
}

Result<std::vector<JobStatus>> parse_squeue(std::string_view output, std::string_view separator) {
    std::vector<JobStatus> jobs;
    while (!output.empty()) {
        if (!take_row(output, separator, jobs.emplace_back())) {
            return Error{codes::slurm_output, "squeue did not print the requested columns"};
        }
    }
    return jobs;
}

}  // namespace det::slurm
