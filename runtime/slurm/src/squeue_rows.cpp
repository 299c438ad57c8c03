#include "squeue_rows.hpp"

#include <det/foundation/text.hpp>

#include <fmt/format.h>

namespace det::slurm {
namespace {

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

/// Parses and removes the first row; false if there is none.
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
            return Error{codes::slurm_output, "squeue did not print the columns that were asked for"};
        }
    }
    return jobs;
}

}  // namespace det::slurm
