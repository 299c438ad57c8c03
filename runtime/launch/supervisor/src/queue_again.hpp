#pragma once
#include <det/launch/supervisor/supervise.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace det::launch::supervisor {

/// How a job goes back to Slurm's queue.
struct QueueAgain {
    enum class Then { start_soon, stay_held };
    Then then = Then::start_soon;
    bool slurm_ends_it = false;          // Slurm is ending the job already
    std::vector<std::string> bad_hosts;  // nodes that it must not get any more
    bool by_another_job = false;         // rather than by itself
    std::chrono::seconds patience{0};    // with a slurmctld that does not answer
};

/// Requeues the job. Where that is not wanted, or Slurm refuses it (a job may have been made one that is not
/// requeued), another one is submitted for its task, unless somebody has cancelled it meanwhile: the number
/// of that one.
Result<std::optional<std::uint32_t>> queue_again(Assignment const& assignment, QueueAgain const& how,
                                                 Surroundings const& around);

}  // namespace det::launch::supervisor
