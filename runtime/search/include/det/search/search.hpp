#pragma once
#include <det/protocol/experiment_spec.hpp>
#include <det/search/asha.hpp>
#include <det/search/numpy_random.hpp>
#include <det/search/space.hpp>

#include <cstdint>
#include <vector>

namespace det::search {

struct Method;  // a searcher, see src/methods.hpp

/// The hyperparameters and the seed that the searcher gives a trial.
struct TrialDraw {
    JsonValue hyperparameters;
    std::uint32_t seed = 0;
    friend bool operator==(TrialDraw const&, TrialDraw const&) = default;
};

/// The trials of an experiment: their number and the hyperparameters of each. A pure function of the
/// configuration and the experiment's seed, so that every process computes the same draw i.
class Search {
public:
    /// Fails with an unknown name of the searcher and all hyperparameters that can't be searched; if there
    /// are none, with the first option of the searcher that is wrong (for a grid, all ranges without a
    /// count), or if there are more than trials_per_experiment_max trials.
    static Result<Search, Refusals> parse(SearcherSpec const& searcher, Json const& hyperparameters,
                                          std::uint32_t experiment_seed);

    /// 0 for a grid without hyperparameters.
    std::uint32_t trial_count() const { return trial_count_; }
    /// The maximum number of concurrently running trials; at least 1.
    std::uint32_t concurrent_trials_max() const { return concurrent_trials_max_; }
    Space const& space() const { return space_; }
    /// The brackets, if the searcher stops trials early.
    std::optional<AshaSearch> const& asha() const { return asha_; }

    /// Whether another draw replaces a trial with invalid hyperparameters: not in a grid, and not if all
    /// hyperparameters are constants or have a single choice.
    bool replaces_invalid_trials() const;
    /// The number of draws: the planned trials, and those that can replace invalid ones.
    std::uint32_t draw_count() const;
    /// The draw of one trial. Requires index < draw_count(). Takes time proportional to `index`, because it
    /// skips the random numbers of the trials before.
    TrialDraw draw(std::uint32_t index) const;
    /// The draws of the first `count` planned trials, or of all planned trials if there are fewer.
    std::vector<TrialDraw> draw_first(std::uint32_t count) const;

private:
    TrialDraw draw_next(std::uint32_t index, NumpyRandom& random) const;

    Method const* method_ = nullptr;
    Space space_;
    std::uint32_t experiment_seed_ = 0;
    std::uint32_t trial_count_ = 0;
    std::uint32_t concurrent_trials_max_ = 1;
    std::optional<AshaSearch> asha_;
};

/// The draw of trial `index` of an experiment, from its specification. codes::no_such_trial if the searcher
/// has no such draw; the first error of Search::parse() if the specification can't be searched.
Result<TrialDraw> draw_trial(ExperimentSpec const& spec, std::uint32_t index);

/// The draws of the trials 0 to count - 1, also of those that replace invalid ones; fewer if the searcher
/// makes fewer, none if it can't be parsed.
std::vector<TrialDraw> draw_trials(ExperimentSpec const& spec, std::uint32_t count);

/// Whether the sampler of a search says how far its trials train: `custom` with sets_lengths.
bool sampler_sets_lengths(SearcherSpec const& searcher);

}  // namespace det::search
