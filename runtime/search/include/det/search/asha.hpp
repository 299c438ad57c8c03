#pragma once
#include <det/protocol/experiment_spec.hpp>
#include <det/search/space.hpp>
#include <det/search/training_length.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace det::search {

/// A bracket of a search by successive halving: its trials compete with each other only.
struct Bracket {
    /// The training length at which each rung compares trials, ascending. The last one ends a trial.
    std::vector<std::uint64_t> rung_lengths;
    std::uint32_t trials = 0;  // number of trials, not counting invalid ones
    /// The bracket's share of max_concurrent_trials, at least 1; without that limit, Determined's default.
    std::uint32_t concurrent_trials = 0;
    friend bool operator==(Bracket const&, Bracket const&) = default;
};

/// A search that stops the worse trials early: adaptive_asha (several brackets) or async_halving (one). All
/// fields follow from the searcher section of the configuration. The variant is the one that stops trials;
/// trials never pause to be promoted later.
struct AshaSearch {
    std::vector<Bracket> brackets;  // the bracket with most rungs first
    double divisor = 4;             // the best 1/divisor of the trials of a rung train on, at least one
    bool smaller_is_better = true;
    TrainingLength length;

    /// The sum over all brackets. It may exceed max_trials, because each bracket has at least one trial.
    std::uint32_t trial_count() const;
    /// The sum over all brackets, at most trial_count(). It may exceed max_concurrent_trials for the same
    /// reason.
    std::uint32_t concurrent_trials() const;
};

/// Estimates the mean number of trials that arrive at each rung of a bracket if their metrics are distinct
/// and their order is random. Exact for the first two rungs; the number for a later rung is computed from the
/// rounded mean of the rung before. How many trials train on depends on the order of their arrival.
std::vector<double> expected_arrivals(Bracket const& bracket, double divisor);

bool is_asha(std::string_view searcher_name);

/// Computes the brackets of an adaptive_asha or async_halving searcher. Requires is_asha(searcher.name).
Result<AshaSearch, Refusals> plan_asha(SearcherSpec const& searcher);

/// Distributes the planned trials to brackets by smooth weighted round robin: bracket b gets exactly its
/// number of trials, evenly spread. So each bracket starts early, and a trial is in the same bracket in every
/// process.
class BracketAssignment {
public:
    explicit BracketAssignment(AshaSearch const& search);

    /// The bracket of a planned trial. Requires trial < search.trial_count().
    std::uint32_t bracket_of(std::uint32_t trial) const { return brackets_.at(trial); }

private:
    std::vector<std::uint8_t> brackets_;  // for each trial
};

}  // namespace det::search
