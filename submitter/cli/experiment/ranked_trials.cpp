#include "experiment/ranked_trials.hpp"

#include <det/protocol/compare_metrics.hpp>

#include <algorithm>

namespace det::cli {

Result<std::vector<RankedTrial>> rank_trials(tracker::history::ExperimentView const& view,
                                             tracker::history::History& history) {
    std::vector<RankedTrial> trials;
    if (!view.record.spec) return trials;
    for (auto const& trial : view.trials) {
        DET_TRY_ASSIGN(auto const best, history.load_best_validation(trial.record.id, *view.record.spec));
        if (best) trials.push_back({&trial, *best});
    }
    std::ranges::stable_sort(trials, [&](auto const& a, auto const& b) {
        return is_better(a.validation.value, b.validation.value,
                         view.record.spec->searcher.smaller_is_better);
    });
    return trials;
}

}  // namespace det::cli
