#pragma once
#include <det/tracker/history/history.hpp>

#include <vector>

namespace det::tracker::history {

/// How a run made room, and when the next one trained again: moments in their order, those of which nothing
/// is known left out.
struct Interruption {
    std::uint32_t run = 0;
    std::optional<UtcTime> noticed;       // the chief's node was told
    std::optional<UtcTime> acknowledged;  // all ranks knew, at the same step
    std::optional<UtcTime> saved;         // the last checkpoint, if it came after that
    std::optional<UtcTime> ended;
    std::optional<UtcTime> queued;
    std::optional<UtcTime> started;
    std::optional<UtcTime> trained;
};

/// Whether the run was asked to go, by Slurm or by the user, and the trial goes on afterwards.
bool is_interrupted(lifecycle::RunView const& run);

/// Of a trial's runs, in order. reports: one entry per run. Pure.
std::vector<Interruption> interruptions_of(std::vector<lifecycle::RunView> const& runs,
                                           std::vector<RunReports> const& reports);

}  // namespace det::tracker::history
