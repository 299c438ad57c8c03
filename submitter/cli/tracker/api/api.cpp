#include "tracker/api/api.hpp"

#include "actions.hpp"
#include "changes.hpp"
#include "commands.hpp"
#include "events.hpp"
#include "experiment_metrics.hpp"
#include "experiments.hpp"
#include "logs.hpp"
#include "nodes.hpp"
#include "route_helpers.hpp"
#include "series.hpp"

namespace det::tracker::api {

Api::Api(Sources sources) : state_(std::make_unique<State>(sources)) {}
Api::~Api() = default;

void Api::on_change() { state_->waiters.wake(); }

std::vector<http::Route> Api::routes() {
    Routes routes;
    routes.push_back(get_route("/v1/tracker", [state = state_.get()](Request const& request) -> Result<Json> {
        DET_TRY(reject_unknown_parameters(request, {}));
        if (!state->sources.describe_tracker) return Json::object();
        return Json(*state->sources.describe_tracker());
    }));
    add_change_routes(routes, state_->sources, state_->waiters);
    add_log_routes(routes, state_->sources, state_->waiters);
    if (state_->sources.allows_actions) {
        add_action_routes(routes, state_->sources,
                          {state_->confirmations, state_->acting_slurm, state_->services,
                           [state = state_.get()] { state->on_action_done(); }});
    }
    Routes of_views;
    add_command_routes(of_views, state_->sources, state_->services);
    add_event_routes(of_views, state_->sources);
    add_experiment_metric_routes(of_views, state_->sources);
    add_experiment_routes(of_views, state_->sources, state_->services);
    add_node_routes(of_views, state_->sources, state_->services);
    add_series_routes(of_views, state_->sources);
    for (auto& route : of_views) routes.push_back(state_->answers.share(std::move(route)));
    return routes;
}

}  // namespace det::tracker::api
