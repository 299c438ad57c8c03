#include "events.hpp"

#include <det/tracker/history/journal_history.hpp>

namespace det::tracker::api {
namespace {

Result<Json> experiment_events(Sources const& sources, Request const& request) {
    DET_TRY(reject_unknown_parameters(request, {}));
    DET_TRY_ASSIGN(auto const id, experiment_of(request));
    // Reads the journal, because the index may not have the event of an action that has just ended.
    DET_TRY_ASSIGN(auto const record,
                   history::JournalHistory(sources.root).load_experiment_without_trials(id));
    auto events = Json::array();
    for (auto const& event : record.events) {
        events.push_back({{"kind", event.kind},
                          {"time", format_utc(event.time)},
                          {"by", event.by},
                          {"body", *event.body}});
    }
    return Result<Json>(Json{{"events", std::move(events)}});
}

}  // namespace

void add_event_routes(Routes& routes, Sources& sources) {
    routes.push_back(get_route("/v1/experiments/{experiment}/events", [&sources](Request const& request) {
        return experiment_events(sources, request);
    }));
}

}  // namespace det::tracker::api
