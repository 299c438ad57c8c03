#include "run_event_hook.hpp"

#include <det/events/event_hook.hpp>
#include <det/foundation/error_codes.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <initializer_list>

namespace det::experiment {
namespace {

using lifecycle::State;

void tell(ExperimentSpec const& spec, std::string_view event, Json body, Context& context) {
    body["time"] = format_utc(context.clock.now());
    events::EventHook hook(spec, context.environment, [&](std::string const& line) {
        context.warn(Error{codes::process, line});
    });
    hook.notify(event, body);
    hook.wait();
}

std::vector<TrialId> trials_in(tracker::history::ExperimentView const& experiment,
                               std::initializer_list<State> states) {
    std::vector<TrialId> trials;
    for (auto const& trial : experiment.trials) {
        if (std::ranges::find(states, trial.state) != states.end()) trials.push_back(trial.record.id);
    }
    return trials;
}

}  // namespace

void run_hook_for_submission(ExperimentSpec const& spec, std::vector<ArrayJob> const& arrays,
                             Context& context) {
    auto jobs = Json::array();
    for (auto const& array : arrays) jobs.push_back(std::to_string(array.job));
    tell(spec, events::submitted, {{"jobs", std::move(jobs)}}, context);
}

void run_hook_for_trials(tracker::history::ExperimentView const& experiment,
                         UnsupervisedTrialsEvent const& what, Context& context) {
    if (what.trials.empty() || !experiment.record.spec) return;
    auto trials = Json::array();
    for (auto const& trial : what.trials) trials.push_back(to_string(trial));
    tell(*experiment.record.spec, what.event, {{"trials", std::move(trials)}, {"message", what.message}},
         context);
}

std::vector<TrialId> unsupervised_trials(tracker::history::ExperimentView const& experiment) {
    return trials_in(experiment, {State::queued, State::paused, State::interrupted});
}

std::vector<TrialId> queued_trials(tracker::history::ExperimentView const& experiment) {
    return trials_in(experiment, {State::queued});
}

}  // namespace det::experiment
