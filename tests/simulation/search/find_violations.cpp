#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

#include "check_decision.hpp"
#include "supervised_search.hpp"

namespace det::simulation {
namespace {

using Decided = SimulatedRun::Decided;

/// Returns, by rung, the decisions that earlier runs had recorded when run `run` opened. A decision of a
/// later run replaces those of earlier runs at its rung and at higher ones.
std::map<std::uint32_t, SearchDecision> decisions_known_to(SimulatedTrial const& trial, std::size_t run) {
    std::map<std::uint32_t, SearchDecision> known;
    for (std::size_t earlier = 0; earlier < run; ++earlier) {
        for (auto const& [time_s, decision] : trial.runs[earlier].decisions) {
            if (time_s > trial.runs[run].opened_s) continue;
            known.erase(known.lower_bound(decision.rung), known.end());
            known[decision.rung] = decision;
        }
    }
    return known;
}

std::map<std::uint32_t, SearchDecision> decisions_of(SimulatedTrial const& trial) {
    auto known = decisions_known_to(trial, trial.runs.size() - 1);
    for (auto const& decided : trial.runs.back().decisions) known[decided.decision.rung] = decided.decision;
    return known;
}

bool is_end(SearchDecision const& decision) { return decision.decision != "advance"; }

/// Collects what is wrong.
class Violations {
public:
    explicit Violations(SupervisedSearch const& simulated)
        : simulated_(simulated), checker_(simulated.rungs(), simulated.search()) {}

    std::vector<std::string> find() {
        for (std::uint32_t planned = 0; planned < simulated_.planned_trials(); ++planned) check_end(planned);
        for (index_ = 0; index_ < simulated_.trials().size(); ++index_) {
            auto const& trial = simulated_.trials()[index_];
            if (trial.runs.empty()) continue;
            check_runs(trial);
            check_decisions(trial);
            check_entries(trial);
        }
        for (auto const& [key, rung] : simulated_.rungs().rungs()) {
            check_best(key.first, key.second, rung);
            check_pairs(key.first, key.second);
        }
        return std::move(found_);
    }

private:
    bool has_no_late_writers() const {
        return simulated_.conditions().cut_off_probability == 0 && simulated_.conditions().late_share == 0;
    }
    void add(std::string text) { found_.push_back(std::move(text)); }
    void add_of_trial(std::string const& text) { add(fmt::format("trial {}: {}", index_, text)); }

    /// The trial, or the one that replaces it, has ended. A supervisor that was cut off may replace a trial
    /// that its newer run has ended: no job runs that replacement.
    void check_end(std::uint32_t planned) {
        auto index = planned;
        while (simulated_.trials()[index].replacement && !has_ended_as_valid(index))
            index = *simulated_.trials()[index].replacement;
        if (!has_ended_as_valid(index))
            add(fmt::format("planned trial {} (now {}) has not ended", planned, index));
    }

    bool has_ended_as_valid(std::uint32_t index) const {
        auto const& runs = simulated_.trials()[index].runs;
        return !runs.empty() && runs.back().end != RunEnd::none && runs.back().end != RunEnd::invalid;
    }

    /// No run begins after the end, and only one run ends while it is the newest.
    void check_runs(SimulatedTrial const& trial) {
        int ends = 0;
        for (std::size_t run = 0; run < trial.runs.size(); ++run) {
            auto const& own = trial.runs[run];
            bool const is_newest = run + 1 == trial.runs.size() || own.ended_s < trial.runs[run + 1].began_s;
            if (own.end != RunEnd::none && is_newest) ++ends;
            auto const known = decisions_known_to(trial, run);
            bool const was_over = !known.empty() && is_end(known.rbegin()->second);
            if (was_over && (!own.reports.empty() || !own.decisions.empty()))
                add_of_trial(fmt::format("run {} trains on after the search had ended the trial", run));
        }
        if (ends > 1 || (ends == 0 && !trial.replacement))
            add_of_trial(fmt::format("it has ended {} times", ends));
    }

    void check_decisions(SimulatedTrial const& trial) {
        std::map<std::uint32_t, int> times;
        for (auto const& run : trial.runs) {
            for (auto const& decided : run.decisions) {
                auto const objection = checker_.objection(decided.decision);
                if (!objection.empty()) add_of_trial(objection);
                ++times[decided.decision.rung];
            }
        }
        for (auto const& [rung, count] : times) {
            if (count > 1 && simulated_.conditions().cut_off_probability == 0)
                add_of_trial(fmt::format("decided {} times at rung {}", count, rung));
        }
        if (!trial.replacement) check_order(trial);
    }

    /// The search let the trial train on at each rung before its last one, and the trial ended as the search
    /// decided there.
    void check_order(SimulatedTrial const& trial) {
        auto const known = decisions_of(trial);
        std::uint32_t expected = 0;
        for (auto const& [rung, decision] : known) {
            if (rung != expected++) add_of_trial(fmt::format("it skips to rung {}", rung));
            if (is_end(decision) && expected < known.size())
                add_of_trial(fmt::format("goes on after rung {}", rung));
        }
        auto const decided = known.empty() ? "" : known.rbegin()->second.decision;
        auto const end = trial.runs.back().end;
        if ((end == RunEnd::stopped) != (decided == "stop") ||
            (end == RunEnd::complete) != (decided == "complete"))
            add_of_trial(
                fmt::format("its run ends with {}, the search with '{}'", static_cast<int>(end), decided));
    }

    /// The trial has an entry at each rung of its decisions, and one more if it failed. Invalid trials have
    /// none.
    void check_entries(SimulatedTrial const& trial) {
        auto const bracket = search::BracketAssignment(simulated_.search()).bracket_of(trial.planned);
        std::set<std::uint32_t> with_entry, expected;
        for (auto const& [key, rung] : simulated_.rungs().rungs()) {
            auto const names = simulated_.rungs().final_names(key.first, key.second);
            auto const entries = search::parse_rung(names);
            auto const count = std::ranges::count(entries, index_, &search::RungEntry::trial);
            if (count > 0 && key.first != bracket) add_of_trial("it has an entry in another bracket");
            if (count > 0) with_entry.insert(key.second);
            if (has_no_late_writers() && count_names(names) > 1)
                add_of_trial(fmt::format("it has several entries at rung {}", key.second));
        }
        if (!trial.replacement) {
            for (auto const& [rung, decision] : decisions_of(trial)) expected.insert(rung);
            if (trial.runs.back().end == RunEnd::failed)
                expected.insert(static_cast<std::uint32_t>(expected.size()));
        }
        // A supervisor that was cut off may remove the entries of an invalid trial that is stopped meanwhile.
        bool const may_lack = trial.replacement || (simulated_.conditions().cut_off_probability > 0 &&
                                                    simulated_.conditions().rates.invalid > 0);
        bool const holds = has_no_late_writers() ? with_entry == expected
                                                 : may_lack || std::ranges::includes(with_entry, expected);
        if (!holds) add_of_trial("its entries are not those of its decisions");
    }

    /// The number of entries of the trial that is checked.
    std::ptrdiff_t count_names(std::vector<std::string> const& names) const {
        return std::ranges::count_if(
            names, [&](auto const& name) { return search::parse_rung_entry_name(name)->trial == index_; });
    }

    /// The best trial that has ever arrived at a rung trains on.
    void check_best(std::uint32_t bracket, std::uint32_t rung, SharedRungs::Rung const& entries) {
        std::optional<search::RungEntry> best;
        for (auto const& entry : entries) {
            auto const parsed = search::parse_rung_entry_name(entry.name);
            if (parsed && !std::isnan(parsed->metric) && (!best || parsed->metric < best->metric))
                best = parsed;
        }
        if (!best) return;
        auto const& trial = simulated_.trials()[best->trial];
        bool const counts = std::ranges::count_if(entries, [&](auto const& entry) {
                                return search::parse_rung_entry_name(entry.name)->trial == best->trial;
                            }) == 1;
        if (!counts || trial.replacement) return;
        auto const known = decisions_of(trial);
        auto const decision = known.find(rung);
        if (decision == known.end() || decision->second.decision == "stop")
            add(fmt::format("trial {}, the best at rung {}-{}, does not train on", best->trial, bracket,
                            rung));
    }

    /// Of each two trials that decided at a rung, at least one has seen the other's entry.
    void check_pairs(std::uint32_t bracket, std::uint32_t rung) {
        if (!has_no_late_writers()) return;
        std::vector<std::pair<std::uint32_t, std::vector<std::uint32_t>>> lists;
        for (std::uint32_t index = 0; index < simulated_.trials().size(); ++index) {
            auto const& trial = simulated_.trials()[index];
            for (auto const& run : trial.runs) {
                for (auto const& [time_s, decision] : run.decisions) {
                    if (decision.bracket == bracket && decision.rung == rung && !trial.replacement)
                        lists.emplace_back(index, *search::parse_trial_ranges(decision.trials));
                }
            }
        }
        for (auto const& [trial, list] : lists) {
            for (auto const& [other, others_list] : lists) {
                if (std::ranges::count(list, other) == 0 && std::ranges::count(others_list, trial) == 0)
                    add(fmt::format("trials {} and {} do not see each other at rung {}-{}", trial, other,
                                    bracket, rung));
            }
        }
    }

    SupervisedSearch const& simulated_;
    DecisionChecker checker_;
    std::uint32_t index_ = 0;  // of the trial that is checked
    std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> find_violations(SupervisedSearch const& simulated) {
    return Violations(simulated).find();
}

}  // namespace det::simulation
