#include <det/foundation/text.hpp>
#include <det/slurm/fixed_columns.hpp>
#include <det/slurm/job.hpp>

#include <array>
#include <fmt/format.h>
#include <utility>

namespace det::slurm {
namespace {

constexpr std::pair<std::string_view, JobState> states[] = {
    {"PENDING", JobState::pending},         {"REQUEUED", JobState::pending},
    {"REQUEUE_HOLD", JobState::pending},    {"SPECIAL_EXIT", JobState::pending},
    {"CONFIGURING", JobState::configuring}, {"RUNNING", JobState::running},
    {"COMPLETING", JobState::completing},   {"STAGE_OUT", JobState::completing},
    {"SUSPENDED", JobState::suspended},     {"STOPPED", JobState::suspended},
    {"COMPLETED", JobState::completed},     {"CANCELLED", JobState::canceled},
    {"REVOKED", JobState::canceled},        {"FAILED", JobState::failed},
    {"OUT_OF_MEMORY", JobState::failed},    {"BOOT_FAIL", JobState::node_failed},
    {"NODE_FAIL", JobState::node_failed},   {"TIMEOUT", JobState::timed_out},
    {"DEADLINE", JobState::timed_out},      {"PREEMPTED", JobState::preempted},
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

/// One column of squeue: its name there, its width, and where it goes.
struct Column {
    std::string_view name;
    std::size_t width;
    void (*read)(JobStatus&, std::string_view);
};

constexpr Column columns[] = {
    {"JobArrayID", 48,
     [](JobStatus& job, std::string_view t) { job.ref = parse_job_ref(t).value_or(JobRef{}); }},
    {"State", 20,
     [](JobStatus& job, std::string_view t) {
         job.state = parse_job_state(t);
         job.state_text = t;
     }},
    {"PreemptTime", 20, [](JobStatus& job, std::string_view t) { job.preempt_time = parse_epoch(t); }},
    {"EndTime", 20, [](JobStatus& job, std::string_view t) { job.end_time = parse_epoch(t); }},
    {"StartTime", 20, [](JobStatus& job, std::string_view t) { job.start_time = parse_epoch(t); }},
    {"SubmitTime", 20, [](JobStatus& job, std::string_view t) { job.submit_time = parse_epoch(t); }},
    {"RestartCnt", 12,
     [](JobStatus& job, std::string_view t) { job.restarts = number_or_zero<std::uint32_t>(t); }},
    {"NumNodes", 12, [](JobStatus& job, std::string_view t) { job.nodes = number_or_zero<int>(t); }},
    {"NumCPUs", 12, [](JobStatus& job, std::string_view t) { job.cpus = number_or_zero<int>(t); }},
    {"Nice", 12, [](JobStatus& job, std::string_view t) { job.nice = number_or_zero<std::int64_t>(t); }},
    {"PriorityLong", 20,
     [](JobStatus& job, std::string_view t) { job.priority = number_or_zero<std::int64_t>(t); }},
    {"BatchHost", 256, [](JobStatus& job, std::string_view t) { job.batch_host = t; }},
    {"UserName", 64, [](JobStatus& job, std::string_view t) { job.user = t; }},
    {"Account", 64, [](JobStatus& job, std::string_view t) { job.account = t == "(null)" ? "" : t; }},
    {"QOS", 64, [](JobStatus& job, std::string_view t) { job.qos = t == "(null)" ? "" : t; }},
    {"NodeList", 256, [](JobStatus& job, std::string_view t) { job.node_list = t; }},
    {"Partition", 128, [](JobStatus& job, std::string_view t) { job.partition = t; }},
    {"tres-per-node", 128, [](JobStatus& job, std::string_view t) { job.tres_per_node = t; }},
    {"Reason", 128, [](JobStatus& job, std::string_view t) { job.reason = t; }},
    {"Comment", 256, [](JobStatus& job, std::string_view t) { job.comment = t == "(null)" ? "" : t; }},
    {"Name", 256, [](JobStatus& job, std::string_view t) { job.name = t; }},
};

}  // namespace

std::string to_string(JobRef const& ref) {
    return ref.task ? fmt::format("{}_{}", ref.job, *ref.task) : std::to_string(ref.job);
}

std::optional<JobRef> parse_job_ref(std::string_view text) {
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

std::string job_format() {
    std::string format;
    for (auto const& column : columns) {
        format += fmt::format("{}{}:{}", format.empty() ? "" : ",", column.name, column.width);
    }
    return format;
}

Result<std::vector<JobStatus>> parse_jobs(std::string_view squeue_output) {
    std::array<std::size_t, std::size(columns)> widths;
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = columns[i].width;
    auto const rows = parse_fixed_columns(squeue_output, widths);
    if (!rows) return Error{codes::slurm_output, "squeue did not print the columns that were asked for"};
    std::vector<JobStatus> jobs;
    for (auto const& row : *rows) {
        auto& job = jobs.emplace_back();
        for (std::size_t i = 0; i < row.size(); ++i) columns[i].read(job, row[i]);
    }
    return jobs;
}

int parse_gpu_count(std::string_view gres) {
    int count = 0;
    for (auto piece : split(gres, ',')) {
        if (piece.starts_with("gres:")) piece.remove_prefix(5);
        if (piece != "gpu" && !piece.starts_with("gpu:")) continue;
        piece = piece.substr(0, piece.find('('));
        auto const last = piece.substr(piece.rfind(':') + 1);
        count += parse_integer<int>(last).value_or(1);  // "gpu" and "gpu:tesla" are one
    }
    return count;
}

}  // namespace det::slurm
