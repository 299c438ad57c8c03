#pragma once
#include <det/slurm/job.hpp>

namespace det::slurm {

/// For squeue --Format: `separator` ends each field that somebody chose freely, so that whatever such a field
/// holds, it forges no row. It must be something that nobody could know beforehand.
std::string squeue_format(std::string_view separator);
/// What squeue printed with that format and SLURM_TIME_FORMAT=%s.
Result<std::vector<JobStatus>> parse_squeue(std::string_view output, std::string_view separator);

}  // namespace det::slurm
