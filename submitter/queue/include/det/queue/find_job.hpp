#pragma once
#include <det/foundation/result.hpp>
#include <det/slurm/job.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::queue {

/// Whose experiments numbers may mean.
struct JobIdScope {
    std::string user;
    std::string root_id;  // "": there is no root, so numbers are Slurm's
};

/// The experiment that a job belongs to, where it is one of this root's and this user's: the comment alone
/// may be anybody's.
std::optional<std::uint32_t> experiment_of(slurm::JobStatus const& job, JobIdScope const& scope);

/// The number of the job that `text` means: an id as `job list` shows it (12, 12_3), an experiment's number,
/// or, where both are possible, exp-7 and job-12. A task means its whole array. Nothing where none of `jobs`
/// is meant; codes::usage where it is no id, or two.
Result<std::optional<std::uint32_t>> find_job_number(std::vector<slurm::JobStatus> const& jobs,
                                                     std::string_view text, JobIdScope const& scope);

}  // namespace det::queue
