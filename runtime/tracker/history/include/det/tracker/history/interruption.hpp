#pragma once
#include <det/tracker/history/history.hpp>

#include <vector>

namespace det::tracker::history {

/// When a run was interrupted, and when the next one trained again: time stamps in order; unknown ones are
/// empty.
struct Interruption {
    std::uint32_t run = 0;
    std::optional<UtcTime> noticed;       // the notice reached the chief's node
    std::optional<UtcTime> acknowledged;  // all ranks agreed on a step
    std::optional<UtcTime> saved;         // the last checkpoint, if later than the acknowledgement
    std::optional<UtcTime> ended;
    std::optional<UtcTime> queued;
    std::optional<UtcTime> started;
    std::optional<UtcTime> trained;
};

/// Whether the run was asked to stop by Slurm or by the user, and the trial continues afterwards.
bool is_interrupted(lifecycle::RunView const& run);

/// The interruptions of a trial's runs, in order. reports: one entry per run. Pure.
std::vector<Interruption> interruptions_of(std::vector<lifecycle::RunView> const& runs,
                                           std::vector<RunReports> const& reports);

}  // namespace det::tracker::history
