#pragma once
#include <det/launch/supervisor/supervise.hpp>

#include <cstdint>
#include <string>

#include "run_plan.hpp"

namespace det::launch::supervisor {

/// Whether the archive with the code reaches the nodes of a run by the step that brings files, or each node
/// reads it from the root. Pure.
/// \param has_step the step is needed anyway, for slurm.stage
bool sends_code(std::uint64_t archive_bytes, std::size_t nodes, bool has_step);

/// Brings the files of slurm.stage, and the code if it is large, to the disks of a run's nodes, by a step
/// before the run's own. Ends early if Slurm signals this job: the run's own step takes the notice.
/// \return the value of DET_STAGE; empty if there is nothing to bring, or if code could not be brought, which
///     each node then reads itself. The error of a node that lacks a file of slurm.stage: the run can't start
Result<std::string> stage_files(BatchJob const& batch_job, RunPlan const& run,
                                SupervisorContext const& context);

}  // namespace det::launch::supervisor
