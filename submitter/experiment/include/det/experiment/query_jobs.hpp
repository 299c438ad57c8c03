#pragma once
#include <det/experiment/context.hpp>
#include <det/queue/find_job.hpp>
#include <det/queue/moves.hpp>
#include <det/site/site.hpp>

namespace det::experiment {

/// The queue, and the partitions that are needed to read it.
struct JobsSnapshot {
    queue::QueueState queue;
    site::Site site;
};

enum class PartitionsNeed { always, where_they_matter };

/// Reads the queue once. where_they_matter: reads the partitions only if jobs of several partitions wait or
/// jobs have slots that are not GPUs.
Result<JobsSnapshot> query_jobs(Context& context, PartitionsNeed need);

/// How jobs of this user's experiments are recognised.
queue::JobIdScope naming_of(Context const& context);

/// The number of slots that a job asks for: GPUs, or CPUs if its pool has no GPUs.
int slots_of(slurm::JobStatus const& job, site::Site const& site);

/// "TYPE_EXPERIMENT" or "TYPE_SLURM", as Determined names the types of jobs.
std::string_view type_of(slurm::JobStatus const& job);
/// "STATE_SCHEDULED" or "STATE_QUEUED".
std::string_view status_of(slurm::JobStatus const& job);

}  // namespace det::experiment
