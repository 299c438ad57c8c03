#include "experiments.hpp"

#include <det/experiment/open_experiment.hpp>
#include <det/foundation/text.hpp>
#include <det/tracker/history/attributes.hpp>
#include <det/tracker/history/view.hpp>

#include <algorithm>
#include <sstream>

#include "output/view_json.hpp"

namespace det::tracker::api {
namespace {

struct ListQuery {
    std::optional<std::string> state, label, name, owner;
    bool archived = false;
    std::size_t limit = 1000;
    std::optional<std::uint64_t> before = {};  // only experiments with a lower id
};

Result<ListQuery> parse_list_query(Request const& request) {
    DET_TRY(allow_parameters(request, {"state", "label", "name", "owner", "archived", "limit", "before"}));
    ListQuery query{text_parameter(request, "state"), text_parameter(request, "label"),
                    text_parameter(request, "name"), text_parameter(request, "owner")};
    DET_TRY_ASSIGN(query.archived, flag_parameter(request, "archived"));
    DET_TRY_ASSIGN(auto const limit, integer_parameter(request, "limit"));
    query.limit = limit.value_or(query.limit);
    if (query.limit == 0 || query.limit > 10000)
        return Error{codes::bad_request, "the parameter 'limit' is not between 1 and 10000"};
    DET_TRY_ASSIGN(query.before, integer_parameter(request, "before"));
    return query;
}

/// Whether the records can match. The state is known only with the queue.
bool may_match(history::ExperimentRecord const& record, ListQuery const& query) {
    auto const now = history::attributes_of(record);
    return (query.archived || !now.is_archived) && (!query.label || now.labels.contains(*query.label)) &&
           (!query.name || now.name.find(*query.name) != std::string::npos) &&
           (!query.owner || (record.spec && record.spec->owner == *query.owner));
}

/// Collects what the use cases warn of.
class QuietContext final : public experiment::Context {
public:
    explicit QuietContext(Sources const& sources)
        : Context(sources.environment, sources.clock, sources.slurm, sources.cache) {}
    void on_warnings(Diagnostics const& found) const override {
        std::ostringstream text;
        print(text, found, {});
        warnings += text.str();
    }
    void on_message(std::string const&) const override {}
    mutable std::string warnings;
};

Json summary_json(history::ExperimentView const& view) {
    auto json = cli::to_json(view);
    json.erase("trials");
    json["trial_count"] = view.trials.size();
    json["completed_trials"] =
        std::ranges::count(view.trials, lifecycle::State::completed, &history::TrialView::state);
    return json;
}

Result<Json> list_experiments(Sources const& sources, std::mutex& slurm_mutex, Request const& request) {
    DET_TRY_ASSIGN(auto const query, parse_list_query(request));
    QuietContext context(sources);
    DET_TRY_ASSIGN(auto ids, sources.history.list_experiments());
    std::ranges::reverse(ids);
    std::vector<history::ExperimentRecord> records;
    for (auto const id : ids) {
        if (query.before && id.value >= *query.before) continue;
        auto record = sources.history.load_experiment(id);
        if (!record) {
            context.warn(std::move(record).error().while_doing("reading experiment " + to_string(id)));
        } else if (may_match(*record, query)) {
            records.push_back(*std::move(record));
        }
        if (!query.state && records.size() == query.limit) break;
    }
    history::QueueSnapshot queue;
    {
        std::lock_guard const lock(slurm_mutex);
        queue = experiment::query_queue(records, context);
    }
    auto list = Json::array();
    for (auto& record : records) {
        auto const view = view_experiment(std::move(record), queue);
        if (query.state && to_lower(to_string(view.state)) != to_lower(*query.state)) continue;
        if (list.size() < query.limit) list.push_back(summary_json(view));
    }
    return Json{{"experiments", std::move(list)}, {"warnings", context.warnings}};
}

}  // namespace

void add_experiment_routes(Routes& routes, Sources& sources, std::mutex& slurm_mutex) {
    routes.push_back(get_route("/v1/experiments", [&sources, &slurm_mutex](Request const& request) {
        return list_experiments(sources, slurm_mutex, request);
    }));
}

}  // namespace det::tracker::api
