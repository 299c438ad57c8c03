#include <det/foundation/text.hpp>
#include <det/slurm/job.hpp>

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
        if (piece.starts_with("gres:")) piece.remove_prefix(5);
        if (piece != "gpu" && !piece.starts_with("gpu:")) continue;
        piece = piece.substr(0, piece.find('('));
        auto const last = piece.substr(piece.rfind(':') + 1);
        count += parse_integer<int>(last).value_or(1);  // "gpu" and "gpu:tesla" are one
    }
    return count;
}

}  // namespace det::slurm
