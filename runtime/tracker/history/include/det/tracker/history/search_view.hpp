#pragma once
#include <det/search/asha.hpp>
#include <det/search/rung.hpp>
#include <det/tracker/history/experiment_view.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace det::tracker::history {

/// A rung of a bracket as it is now.
struct RungView {
    std::uint64_t length = 0;                // the training length at which it compares trials
    std::vector<search::RungEntry> entries;  // best first; failed trials last
    std::uint32_t kept_trials = 0;  // number of the entries that would train on if all were compared now
    /// The worst metric of the kept trials; NaN if one of them failed; nullopt: no trial has arrived.
    std::optional<double> cut_off;
    std::uint32_t stopped_trials = 0;  // number of trials that the search has stopped here
};

struct BracketView {
    std::uint32_t trials = 0;  // planned
    std::vector<RungView> rungs;
    double progress = 0;  // 0 to 1
};

/// An adaptive search as users see it.
struct SearchView {
    search::AshaSearch search;
    std::vector<BracketView> brackets;
    double progress = 0;  // 0 to 1
};

/// The entries of all rungs: [bracket][rung].
using RungEntries = std::vector<std::vector<std::vector<search::RungEntry>>>;

/// Combines the entries of the rungs with the trials; leaves out the entries of trials that do not exist. The
/// progress is computed as in Determined. A bracket's progress is the number of entries of its first rung
/// divided by 1.2 times its trials; once all trials have an entry there, also the ended trials divided by its
/// trials, if that is larger. The search's progress is the mean over its brackets. Pure.
SearchView view_search(search::AshaSearch search, RungEntries const& entries, ExperimentView const& view);

/// All decisions of the search about a trial, in order.
std::vector<SearchDecision> decisions_of(TrialRecord const& trial);

}  // namespace det::tracker::history
