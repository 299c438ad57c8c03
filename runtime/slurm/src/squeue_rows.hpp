#pragma once
#include <det/slurm/job.hpp>

namespace det::slurm {

/// The argument of squeue --Format. `separator` ends each field whose text users choose. It must be
/// unpredictable, so that no text of a field can look like the start of a row.
std::string squeue_format(std::string_view separator);
/// Parses the output of squeue with that format and SLURM_TIME_FORMAT=%s.
Result<std::vector<JobStatus>> parse_squeue(std::string_view output, std::string_view separator);

}  // namespace det::slurm
