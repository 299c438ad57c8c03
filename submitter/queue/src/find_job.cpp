#include <det/queue/find_job.hpp>
#include <det/slurm/experiment_comment.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::queue {
namespace {

using slurm::JobStatus;

constexpr std::string_view experiment_prefix = "exp-";
constexpr std::string_view job_prefix = "job-";

std::optional<std::uint32_t> job_of_experiment(std::vector<JobStatus> const& jobs, std::uint32_t experiment,
                                               ExperimentJobOwner const& owner) {
    for (auto const& job : jobs) {
        if (experiment_of(job, owner) == experiment) return job.ref.job;
    }
    return std::nullopt;
}

std::optional<std::uint32_t> job_with_number(std::vector<JobStatus> const& jobs, std::uint32_t number) {
    bool const there =
        std::any_of(jobs.begin(), jobs.end(), [&](auto const& job) { return job.ref.job == number; });
    return there ? std::optional(number) : std::nullopt;
}

Error no_id(std::string_view text) {
    return {codes::usage, fmt::format("'{}' is not the id of a job", text),
            "ids are those of 'det-submit job list' (12, 12_3; --array has a row for each job), or the "
            "number of an experiment of yours"};
}

}  // namespace

std::optional<std::uint32_t> experiment_of(JobStatus const& job, ExperimentJobOwner const& owner) {
    if (owner.root_id.empty() || job.user != owner.user) return std::nullopt;
    auto const comment = slurm::parse_experiment_comment(job.comment);
    return comment && comment->root_id == owner.root_id ? comment->experiment : std::nullopt;
}

Result<std::optional<std::uint32_t>> find_job_id(std::vector<JobStatus> const& jobs, std::string_view text,
                                                 ExperimentJobOwner const& owner) {
    bool const says_experiment = text.starts_with(experiment_prefix);
    bool const says_job = text.starts_with(job_prefix);
    auto const number =
        slurm::parse_job_ref(says_experiment || says_job ? text.substr(experiment_prefix.size()) : text);
    // "12_[3-5],14_1", several arrays in a row of the list, would be its first array only.
    auto const after_brackets = text.substr(std::min(text.find(']'), text.size()));
    bool const names_several = after_brackets.find(',') != std::string_view::npos;
    if (!number || (says_experiment && number->task) || names_several) return no_id(text);
    auto const as_experiment =
        says_job || number->task ? std::nullopt : job_of_experiment(jobs, number->job, owner);
    auto const as_job = says_experiment ? std::nullopt : job_with_number(jobs, number->job);
    if (as_experiment && as_job && *as_experiment != *as_job) {
        return Error{codes::usage,
                     fmt::format("'{}' may be experiment {}, which is job {}, or job {}", text, text,
                                 *as_experiment, text),
                     fmt::format("write exp-{} or job-{}", text, text)};
    }
    return as_experiment ? as_experiment : as_job;
}

}  // namespace det::queue
