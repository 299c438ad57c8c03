#pragma once
#include <det/sampler/request.hpp>
#include <det/sampler/state.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace det::sampler {

/// What is to be done in a search whose sampler sets lengths.
struct TrialQueue {
    std::vector<Request> questions;    // trials have trained to their length or ended, and it was not asked
    std::vector<std::uint32_t> ready;  // trials to claim: they begin, train on, or end without a step
    bool is_stopped = false;           // the sampler has stopped the search
};

/// Finds the open questions and the trials to train. A trial that another task has claimed may be one of
/// them.
/// \param is_wanted whether the user lets a trial begin that has not begun; called for a few of them
///
/// A run that trains to the length of its trial ends as TrialProgress::waiting. So a trial with as many
/// lengths as such ends waits, and each of these ends is one question `trained`.
TrialQueue find_trials_to_train(
    SamplerState const& state, std::uint32_t trial_count,
    std::function<bool(std::uint32_t)> const& is_wanted = [](auto) { return true; });

}  // namespace det::sampler
