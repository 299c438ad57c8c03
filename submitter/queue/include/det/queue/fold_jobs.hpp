#pragma once
#include <det/slurm/job.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace det::queue {

/// Groups the tasks of an array, and all jobs of an experiment of a user. Any other job is a group by itself.
/// Pure.
/// \return The indices of the jobs of each group, ascending; the groups in the order of their first jobs.
std::vector<std::vector<std::size_t>> fold_jobs(std::vector<slurm::JobStatus const*> const& jobs);

/// Writes jobs as squeue does: "12", "12_3", "12_[0,3-40]"; those of several numbers "12_[0-3],15_1".
std::string compress_job_refs(std::vector<slurm::JobRef> refs);

}  // namespace det::queue
