#pragma once
#include <det/queue/find_job.hpp>
#include <det/queue/moves.hpp>
#include <det/site/site.hpp>

#include "session.hpp"

namespace det::cli {

/// The queue, with what of the partitions it takes to read it.
struct JobsSight {
    queue::QueueState queue;
    site::Site site;
};

enum class PartitionsNeed { always, where_they_matter };

/// One reading. The partitions are asked for where jobs of several wait or where slots are no GPUs.
Result<JobsSight> look_at_jobs(Session& session, PartitionsNeed need);

/// Which experiments are this user's.
queue::JobIdScope naming_of(Session const& session);

/// How many slots a job asks for: GPUs; CPUs where its pool has no GPUs.
int slots_of(slurm::JobStatus const& job, site::Site const& site);

std::string_view type_of(slurm::JobStatus const& job);
std::string_view status_of(slurm::JobStatus const& job);

}  // namespace det::cli
