#pragma once
#include <det/launch/supervisor/supervise.hpp>

#include <cstdint>
#include <functional>
#include <string>

#include "run_plan.hpp"

namespace det::launch::supervisor {

/// Whether the archive with the code reaches the nodes of a run by the step that brings files, or each node
/// reads it from the root. Pure.
/// \param has_step the step is needed anyway, for slurm.stage
bool sends_code(std::uint64_t archive_bytes, std::size_t nodes, bool has_step);

/// Brings the files of slurm.stage, and the code if it is large, to the disks of a run's nodes, by a step
/// before the run's own.
/// \param is_stopped see run_node_step()
/// \return the value of DET_STAGE; empty if there is nothing to bring, or if code could not be brought, which
///     each node then reads itself. codes::interrupted if the run must not start any more. The error of a
///     node that lacks a file of slurm.stage: the run can't start
Result<std::string> stage_files(BatchJob const& batch_job, RunPlan const& run,
                                SupervisorContext const& context, std::function<bool()> const& is_stopped);

}  // namespace det::launch::supervisor
