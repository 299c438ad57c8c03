#pragma once
#include <det/protocol/json_value.hpp>
#include <det/tracker/history/experiment_view.hpp>

namespace det::tracker::history {

// The JSON that the commands of det-submit and the routes of det-tracker share.

Json to_json(ExperimentView const& view);
Json to_json_without_trials(ExperimentView const& view);
Json to_json(TrialView const& trial);
Json to_json(AlertRaised const& alert);
Json to_json(Interruption const& interruption);

}  // namespace det::tracker::history
