#include "output/load_interruptions.hpp"

#include <algorithm>

namespace det::cli {

Result<std::vector<tracker::history::Interruption>> load_interruptions(
    tracker::history::History& history, tracker::history::TrialView const& trial) {
    auto const& runs = trial.record.runs;
    if (std::ranges::none_of(runs, tracker::history::is_interrupted))
        return std::vector<tracker::history::Interruption>();
    DET_TRY_ASSIGN(auto const reports, history.load_reports_without_metrics(trial.record.id));
    return tracker::history::interruptions_of(runs, reports);
}

}  // namespace det::cli
