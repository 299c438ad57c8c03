#include "check_decision.hpp"

#include <det/foundation/sha256.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

namespace det::simulation {
namespace {

/// The entries of a trial that were ever added, in byte order: of those that a process saw, the first counts.
using Candidates = std::map<std::uint32_t, std::set<std::string>>;

std::uint32_t trial_of(std::string const& entry) {
    return static_cast<std::uint32_t>(std::stoul(entry.substr(0, entry.find('@'))));
}

/// NaN is infinity, which is worse than every number. The simulation reports no infinity.
double metric_of(std::string const& entry) {
    auto const metric = std::stod(entry.substr(entry.find('@') + 1));
    return std::isnan(metric) ? INFINITY : metric;
}

Candidates candidates_of(SharedRungs::Rung const& rung) {
    Candidates candidates;
    for (auto const& entry : rung) candidates[trial_of(entry.name)].insert(entry.name);
    return candidates;
}

std::string digest_of(std::vector<std::string> const& names) {
    std::string text;
    for (auto const& name : names) text += name + "\n";
    Sha256 hash;
    hash.update(text);
    return hash.finish();
}

/// Finds one entry of each trial, so that the entries have the digest. Tries all candidates of each trial.
bool find_names(std::vector<std::string>& names, std::vector<std::uint32_t> const& trials,
                Candidates const& candidates, std::string const& digest, std::size_t begin = 0) {
    for (auto i = begin; i < trials.size(); ++i) {
        auto const& choices = candidates.at(trials[i]);
        if (choices.size() == 1) continue;
        return std::ranges::any_of(choices, [&](auto const& name) {
            names[i] = name;
            return find_names(names, trials, candidates, digest, i + 1);
        });
    }
    return digest_of(names) == digest;
}

std::string expected_decision(std::vector<std::string> const& names, SearchDecision const& decision,
                              double divisor, bool is_last) {
    auto const own = metric_of(decision.entry);
    std::size_t better = 0;
    for (auto const& name : names) better += metric_of(name) < own ? 1 : 0;
    auto const kept = std::max(
        static_cast<std::size_t>(std::floor(static_cast<double>(names.size()) / divisor)), std::size_t{1});
    auto const* const word = is_last ? "complete" : better < kept ? "advance" : "stop";
    return fmt::format("{} better, {} kept: {}", better, kept, word);
}

}  // namespace

std::string DecisionChecker::objection(SearchDecision const& decision) const {
    auto const found = rungs_.rungs().find({decision.bracket, decision.rung});
    auto const trials = search::parse_trial_ranges(decision.trials);
    if (found == rungs_.rungs().end() || !trials) return "its list is not a list of trials of a rung";
    auto const candidates = candidates_of(found->second);
    std::vector<std::string> names;
    for (auto const trial : *trials) {
        auto const known = candidates.find(trial);
        if (known == candidates.end()) return fmt::format("trial {} of its list has no entry", trial);
        names.push_back(*known->second.begin());
    }
    if (!find_names(names, *trials, candidates, decision.digest)) return "no entries have its digest";
    if (std::ranges::find(names, decision.entry) == names.end()) return "its list lacks its entry";
    bool const is_last = decision.rung + 1 == search_.brackets.at(decision.bracket).rung_lengths.size();
    auto const expected = expected_decision(names, decision, search_.divisor, is_last);
    auto const recorded = fmt::format("{} better, {} kept: {}", decision.better_trials, decision.kept_trials,
                                      decision.decision);
    return expected == recorded ? "" : fmt::format("{} does not follow: {}", recorded, expected);
}

}  // namespace det::simulation
