#pragma once
#include <det/protocol/directory_layout.hpp>
#include <det/search/search.hpp>

#include <cstdint>
#include <vector>

namespace det::sampler {

/// Whether a program of the user chooses the hyperparameters.
bool is_custom(ExperimentSpec const& spec);

/// The hyperparameters and the seed of a trial, of every searcher: recorded ones if a sampler chooses them,
/// otherwise search::draw_trial(). A trial for which none are recorded has the constants only.
/// \return errors of search::draw_trial() and load_decisions()
Result<search::TrialDraw> load_draw(ExperimentLayout const& experiment, ExperimentSpec const& spec,
                                    std::uint32_t trial);
/// The same for the trials 0 to count - 1: see search::draw_trials().
Result<std::vector<search::TrialDraw>> load_draws(ExperimentLayout const& experiment,
                                                  ExperimentSpec const& spec, std::uint32_t count);

}  // namespace det::sampler
