#pragma once
#include <det/queue/find_job.hpp>
#include <det/slurm/job.hpp>

#include <string>
#include <vector>

#include "session.hpp"

namespace det::cli {

/// A job was moved to another partition: its experiment's spec says so from now on, since who submits its
/// tasks once more reads that. Not while other jobs of it are elsewhere. `jobs`: the queue as it is now.
/// What can't be written is a warning: the move was made.
void follow_pool(std::uint32_t job, std::vector<slurm::JobStatus> const& jobs,
                 queue::JobIdScope const& naming, Session& session);

}  // namespace det::cli
