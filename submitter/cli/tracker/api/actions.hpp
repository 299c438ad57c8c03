#pragma once
#include <functional>

#include "confirmations.hpp"
#include "route_helpers.hpp"

namespace det::tracker::api {

/// What the routes of actions need besides the sources.
struct ActionTools {
    Confirmations& confirmations;
    slurm::SlurmClient& slurm;  // that changes jobs; used by the service thread
    ServiceThread& services;
    std::function<void()> on_done;  // called after each action
};

/// Adds the two routes of actions: one says what an action will do, the other does it.
void add_action_routes(Routes& routes, Sources& sources, ActionTools const& tools);

}  // namespace det::tracker::api
