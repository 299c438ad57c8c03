#include <det/tracker/history/interruption.hpp>

namespace det::tracker::history {

bool is_interrupted(lifecycle::RunView const& run) {
    if (!run.ended) return false;
    auto const cause = run.ended->cause;
    return cause == Cause::preempted || cause == Cause::paused || cause == Cause::time_limit;
}

std::vector<Interruption> interruptions_of(std::vector<lifecycle::RunView> const& runs,
                                           std::vector<RunReports> const& reports) {
    std::vector<Interruption> interruptions;
    for (std::size_t i = 0; i < runs.size() && i < reports.size(); ++i) {
        if (!is_interrupted(runs[i])) continue;
        auto& found = interruptions.emplace_back();
        found.run = static_cast<std::uint32_t>(i);
        found.ended = runs[i].ended->time;
        found.queued = runs[i].queued_again;
        auto const& own = reports[i];
        if (own.acknowledged) {
            found.noticed = own.acknowledged->noticed;
            found.acknowledged = own.acknowledged->time;
            auto const& saves = own.checkpoints;
            if (!saves.empty() && saves.back().time >= own.acknowledged->time)
                found.saved = saves.back().time;
        }
        if (i + 1 == runs.size() || i + 1 == reports.size()) continue;
        if (runs[i + 1].started) found.started = runs[i + 1].started->time;
        found.trained = reports[i + 1].first_step;
    }
    return interruptions;
}

}  // namespace det::tracker::history
