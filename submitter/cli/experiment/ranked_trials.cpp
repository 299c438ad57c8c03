#include "experiment/ranked_trials.hpp"

#include <det/protocol/compare_metrics.hpp>

#include <algorithm>

namespace det::cli {

Result<std::vector<RankedTrial>> rank_trials(tracker::history::ExperimentView const& view,
                                             tracker::history::History& history) {
    std::vector<RankedTrial> trials;
    if (!view.record.spec) return trials;
    DET_TRY_ASSIGN(auto const bests,
                   history.list_best_validations(
                       view.record.id, static_cast<std::uint32_t>(view.trials.size()), *view.record.spec));
    for (std::size_t i = 0; i < bests.size(); ++i)
        if (bests[i]) trials.push_back({&view.trials[i], *bests[i]});
    std::ranges::stable_sort(trials, [&](auto const& a, auto const& b) {
        return is_better(a.validation.value, b.validation.value,
                         view.record.spec->searcher.smaller_is_better);
    });
    return trials;
}

}  // namespace det::cli
