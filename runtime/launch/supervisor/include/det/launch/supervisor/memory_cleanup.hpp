#pragma once
#include <det/checkpoint/memory_directory.hpp>
#include <det/launch/supervisor/batch_job.hpp>
#include <det/launch/supervisor/supervise.hpp>
#include <det/protocol/ids.hpp>
#include <det/slurm/client.hpp>

#include <filesystem>
#include <string>
#include <vector>

// Removes the snapshots that ranks have kept in the memory of their nodes (slurm.memory_checkpoints). They
// must outlive the steps of a job, so that no process of a step can remove them.
namespace det::launch::supervisor {

/// Whether slurm.memory_checkpoints is set and has an effect.
bool keeps_in_memory(ExperimentSpec const& spec);

/// Whether a run finds what it needs also if it leaves a good node of the last run: not if files were brought
/// to the nodes (slurm.stage). Of snapshots, what the last run has left on this node, the batch host, shows
/// whether nodes have copies of each other's: false if the last run was not here, true if it has left
/// nothing.
/// \param last_hosts of the last run, compressed
bool may_leave_nodes(BatchJob const& batch_job, SupervisorContext const& context, RunId id,
                     std::string const& last_hosts,
                     std::filesystem::path const& base = checkpoint::shared_memory);

/// Removes the snapshots of a trial of this job on this node.
Status remove_memory_snapshots(checkpoint::MemoryPlace const& place);

/// Removes the snapshots of jobs of this user that have ended: their supervisor or node was killed. Asks
/// Slurm only if there are some of another job; those of a job about which Slurm does not answer stay.
/// \param own_job SLURM_JOB_ID of this job
void remove_leftover_snapshots(std::filesystem::path const& base, std::string const& own_job,
                               slurm::SlurmClient& slurm);

/// Removes the snapshots of a trial that leaves this job, on all nodes of the job but `except`, by a step.
/// Blocks for 10 s at most. If the step fails, logs that; the next job of the user removes what is left.
void remove_snapshots_on_nodes(BatchJob const& batch_job, SupervisorContext const& context, TrialId trial,
                               std::vector<std::string> const& except);

}  // namespace det::launch::supervisor
