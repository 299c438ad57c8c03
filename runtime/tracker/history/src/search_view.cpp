#include <det/protocol/compare_metrics.hpp>
#include <det/tracker/history/search_view.hpp>

#include <algorithm>
#include <set>

namespace det::tracker::history {
namespace {

RungView view_rung(std::uint64_t length, std::vector<search::RungEntry> entries,
                   search::AshaSearch const& search) {
    RungView view{length, std::move(entries), 0, {}, 0};
    std::ranges::stable_sort(view.entries, [&](auto const& a, auto const& b) {
        return is_better(a.metric, b.metric, search.smaller_is_better);
    });
    if (view.entries.empty()) return view;
    view.kept_trials = search::count_kept(view.entries.size(), search.divisor);
    view.cut_off = view.entries[view.kept_trials - 1].metric;
    return view;
}

bool is_invalid(TrialView const& trial) {
    auto const& runs = trial.record.runs;
    return !runs.empty() && runs.back().ended && runs.back().ended->cause == Cause::invalid_hyperparameters;
}

/// The entries without those of trials that do not exist.
std::vector<search::RungEntry> entries_of_trials(std::vector<search::RungEntry> entries,
                                                 std::set<std::uint32_t> const& trials) {
    std::erase_if(entries, [&](auto const& entry) { return !trials.contains(entry.trial); });
    return entries;
}

/// \return For each bracket, the number of trials that have ended, not counting trials with invalid
/// hyperparameters.
std::vector<std::uint32_t> count_ended(search::AshaSearch const& search, ExperimentView const& view) {
    search::BracketAssignment const assignment(search);
    std::vector<std::uint32_t> ended(search.brackets.size(), 0);
    for (auto const& trial : view.trials) {
        auto const planned = view.record.planned_trial(trial.record.id.index);
        if (planned >= search.trial_count() || !lifecycle::is_terminal(trial.state) || is_invalid(trial))
            continue;
        ++ended[assignment.bracket_of(planned)];
    }
    return ended;
}

double progress_of(BracketView const& bracket, std::uint32_t ended) {
    auto const trials = static_cast<double>(bracket.trials);
    auto const arrived = static_cast<double>(bracket.rungs.front().entries.size());
    auto const by_arrivals = arrived / (1.2 * trials);
    auto const by_ends = arrived >= trials ? static_cast<double>(ended) / trials : 0;
    return std::min(std::max(by_arrivals, by_ends), 1.0);
}

/// The rung of a decision; nullptr if the search has no such rung.
RungView* find_rung(SearchView& view, SearchDecision const& decision) {
    if (decision.bracket >= view.brackets.size()) return nullptr;
    auto& rungs = view.brackets[decision.bracket].rungs;
    return decision.rung < rungs.size() ? &rungs[decision.rung] : nullptr;
}

}  // namespace

SearchView view_search(search::AshaSearch search, RungEntries const& entries, ExperimentView const& view) {
    SearchView result;
    auto const ended = count_ended(search, view);
    std::set<std::uint32_t> trials;
    for (auto const& trial : view.trials) trials.insert(trial.record.id.index);
    for (std::size_t i = 0; i < search.brackets.size(); ++i) {
        auto const& planned = search.brackets[i];
        auto& bracket = result.brackets.emplace_back(BracketView{planned.trials, {}, 0});
        for (std::size_t rung = 0; rung < planned.rung_lengths.size(); ++rung)
            bracket.rungs.push_back(view_rung(planned.rung_lengths[rung],
                                              entries_of_trials(entries.at(i).at(rung), trials), search));
        bracket.progress = progress_of(bracket, ended[i]);
        result.progress += bracket.progress / static_cast<double>(search.brackets.size());
    }
    for (auto const& trial : view.trials) {
        for (auto const& decision : decisions_of(trial.record)) {
            auto* const rung = find_rung(result, decision);
            if (rung != nullptr && decision.decision == to_string(search::RungDecision::stop))
                ++rung->stopped_trials;
        }
    }
    result.search = std::move(search);
    return result;
}

std::vector<SearchDecision> decisions_of(TrialRecord const& trial) {
    std::vector<SearchDecision> decisions;
    for (auto const& run : trial.runs)
        decisions.insert(decisions.end(), run.decisions.begin(), run.decisions.end());
    return decisions;
}

}  // namespace det::tracker::history
