#pragma once
#include <det/queue/priority_levels.hpp>
#include <det/slurm/job.hpp>

namespace det::queue {

/// Whether Slurm computes priorities from age, size and shares (priority/multifactor), or counts down
/// (priority/basic).
enum class PriorityKind { multifactor, basic };

/// \return The level, on Determined's scale of 1 to 99, that a job has by the priority that an operator has
/// set, else by its nice; 42 for a job of which neither was changed. Low priorities are recognised as set by
/// an operator only with priority/basic, whose own are never low. Pure.
int level_of(slurm::JobStatus const& job, PriorityKind kind);

}  // namespace det::queue
