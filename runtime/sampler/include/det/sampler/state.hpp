#pragma once
#include <det/sampler/decision_log.hpp>
#include <det/sampler/trial_reports.hpp>

namespace det::sampler {

/// What a question to the sampler is made from.
struct SamplerState {
    Decisions decisions;
    std::vector<TrialReport> trials;
};

/// Reads the decisions, and what their trials have reported. Keeps what can't change any more (decisions, and
/// trials that have ended) in the file `cache`, so that the next call reads a few files however many trials
/// there are. The cache may be lost, damaged or old at any time.
/// \return errors of load_decisions() and load_trial_reports()
Result<SamplerState> load_state(ExperimentLayout const& experiment, ExperimentSpec const& spec);

/// Removes from the trials that an answer prunes those that are pruned already or have ended, and repeated
/// ones: a sampler that names them at each question would make the decisions grow without end.
void keep_new_prunes(Answer& answer, SamplerState const& state);

}  // namespace det::sampler
