#pragma once
#include <det/experiment/context.hpp>
#include <det/queue/find_job.hpp>
#include <det/slurm/job.hpp>

#include <string>
#include <vector>

namespace det::experiment {

/// Records in the spec of a job's experiment that the job was moved to another partition: the supervisor
/// submits tasks again with what the spec says. Does nothing while other jobs of the experiment are in
/// another partition. If the spec can't be written, warns: the job was moved. `jobs` is the queue after the
/// move.
void record_pool(std::uint32_t job, std::vector<slurm::JobStatus> const& jobs, queue::JobIdScope const& naming,
                 Context& context);

}  // namespace det::experiment
