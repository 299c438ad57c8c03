#pragma once
#include <det/experiment/context.hpp>
#include <det/queue/find_job.hpp>
#include <det/slurm/job.hpp>

#include <string>
#include <vector>

namespace det::experiment {

/// Writes the new partition of a moved job into the spec of its experiment, because supervisors submit tasks
/// again with the spec's options. Does nothing while other jobs of the experiment are in another partition.
/// If the spec can't be written, only warns, since the job was moved. `jobs` is the queue after the move.
void record_pool(std::uint32_t job, std::vector<slurm::JobStatus> const& jobs, queue::JobIdScope const& naming,
                 Context& context);

}  // namespace det::experiment
