#pragma once
#include <det/foundation/result.hpp>
#include <det/slurm/job.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::queue {

/// The user and the root whose jobs can be named by experiment number.
struct ExperimentJobOwner {
    std::string user;
    std::string root_id;  // empty: no root, so numbers are Slurm job ids
};

/// \return The experiment of the job, if the job belongs to this root and this user. Checks the user too,
/// because any user can submit a job with such a comment.
std::optional<std::uint32_t> experiment_of(slurm::JobStatus const& job, ExperimentJobOwner const& owner);

/// Finds the job that `text` names: an id as in `job list` (12, 12_3), an experiment's number, or, if both
/// are possible, exp-7 or job-12. A task stands for its whole array.
/// \return Nothing if none of `jobs` matches; codes::usage if the text is not an id or is ambiguous.
Result<std::optional<std::uint32_t>> find_job_id(std::vector<slurm::JobStatus> const& jobs,
                                                 std::string_view text, ExperimentJobOwner const& owner);

}  // namespace det::queue
