#include <det/tracker/api/api.hpp>

#include "records.hpp"
#include "state.hpp"

namespace det::tracker::api {

Api::Api(Sources sources) : state_(std::make_unique<State>(std::move(sources))) {}
Api::~Api() = default;

std::vector<http::Route> Api::routes() {
    Routes routes;
    routes.push_back(get_route("/v1/tracker", [state = state_.get()](Request const& request) -> Result<Json> {
        DET_TRY(allow_parameters(request, {}));
        if (!state->sources.describe_tracker) return Json::object();
        return Json(*state->sources.describe_tracker());
    }));
    add_record_routes(routes, state_->sources);
    return routes;
}

}  // namespace det::tracker::api
