#pragma once
#include <det/experiment/context.hpp>
#include <det/queue/find_job.hpp>
#include <det/queue/job_level.hpp>
#include <det/queue/moves.hpp>
#include <det/site/site.hpp>

namespace det::experiment {

/// The queue, and the partitions that are needed to read it.
struct JobsSnapshot {
    queue::QueueState queue;
    site::Site site;
};

enum class PartitionsNeed { always, where_they_matter };

/// Reads the queue once. where_they_matter: reads the partitions only if jobs of several partitions wait or a
/// job asks for no GPUs.
Result<JobsSnapshot> query_all_jobs(Context& context, PartitionsNeed need);

/// How Slurm computes priorities. If Slurm does not answer, `multifactor`, which most sites use.
queue::PriorityKind find_priority_kind(Context& context);

/// Returns the user and the root id by which the jobs of this user's experiments are recognised.
queue::ExperimentJobOwner experiment_job_owner(Context const& context);

/// Returns the number of slots that a job asks for: GPUs, or CPUs if the slots of its pool are CPUs, else
/// 0.
int slots_of(slurm::JobStatus const& job, site::Site const& site);

/// Returns "TYPE_EXPERIMENT" or "TYPE_SLURM", as Determined names the types of jobs.
std::string_view determined_type_of(slurm::JobStatus const& job);
/// Returns "STATE_SCHEDULED" if the job has nodes, else "STATE_QUEUED".
std::string_view determined_status_of(slurm::JobStatus const& job);

}  // namespace det::experiment
