#pragma once
#include <chrono>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "live_training.hpp"

namespace det::faults {

/// The run that a fault is injected into.
struct FaultTarget {
    std::uint32_t trial = 0;
    std::uint32_t run = 0;
    std::string job;                 // "123_4", for Slurm's commands
    std::vector<std::string> hosts;  // of the run
    std::string batch_host;
};

/// How the experiment ends after a fault.
enum class Ending { completed, canceled };

/// Whether a fault disturbs other trainings of the site too.
enum class Scope { training, site };

struct LiveFault {
    std::string_view name;
    /// The causes that the supervisor may record for the run that the fault was injected into, separated by
    /// blanks. "none": the run has no recorded end, because its supervisor is dead or cut off.
    std::string_view causes;
    Ending ending;
    /// Returns whether the fault has taken place, which is not the case if the processes have ended.
    Result<bool> (*inject)(LiveTraining const& training, FaultTarget const& target, std::mt19937& random);
    Seam seam = Seam::none;
    std::string_view only_kinds = {};  // kinds of trainings, separated by blanks; empty: all
    Scope scope = Scope::training;
    /// The fault comes no sooner after the start of the run.
    std::chrono::seconds after_start = std::chrono::seconds(0);
};

std::span<LiveFault const> live_faults();
/// Faults of trainings whose hosts have mounted their directory from an NFS server.
std::span<LiveFault const> nfs_faults();

}  // namespace det::faults
