#pragma once
#include <det/launch/supervisor/supervise.hpp>

#include <cstdint>
#include <vector>

namespace det::launch::supervisor {

/// Ends the runs of these trials that an earlier supervisor of this incarnation of the job has started and
/// not ended, because it was killed: cancels their steps, and records their ends. A
/// run does not count against max_restarts then, and the next one continues from the newest checkpoint. The
/// run of a step that can't be cancelled is abandoned.
Status end_lost_runs(BatchJob const& batch_job, SupervisorContext const& context,
                     std::vector<std::uint32_t> const& trials);

}  // namespace det::launch::supervisor
