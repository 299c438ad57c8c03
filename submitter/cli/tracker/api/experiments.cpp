#include "experiments.hpp"

#include <det/experiment/open_experiment.hpp>
#include <det/protocol/document.hpp>
#include <det/tracker/history/experiment_view.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "warnings_context.hpp"

namespace det::tracker::api {
namespace {

using history::ExperimentFilter;
using history::ExperimentPage;
using history::ExperimentSummary;

constexpr std::size_t limit_max = 10000;

Result<ExperimentFilter> parse_filter(Request const& request) {
    DET_TRY(reject_unknown_parameters(request,
                                      {"state", "label", "name", "owner", "archived", "limit", "before"}));
    ExperimentFilter filter;
    filter.label = text_parameter(request, "label");
    filter.name = text_parameter(request, "name");
    filter.owner = text_parameter(request, "owner");
    if (auto const name = text_parameter(request, "state")) {
        filter.state = lifecycle::parse_state(*name);
        if (!filter.state)
            return Error{codes::bad_request, "the parameter 'state' is no state", "see API.md"};
    }
    DET_TRY_ASSIGN(filter.with_archived, flag_parameter(request, "archived"));
    DET_TRY_ASSIGN(auto const limit, integer_parameter(request, "limit"));
    filter.limit = limit.value_or(filter.limit);
    if (filter.limit == 0 || filter.limit > limit_max)
        return Error{codes::bad_request, "the parameter 'limit' is not between 1 and 10000"};
    DET_TRY_ASSIGN(filter.before, integer_parameter(request, "before"));
    return filter;
}

/// Whether the answer needs only this page: neither Slurm's queue nor further experiments in place of those
/// that can't be read.
bool is_complete(ExperimentPage const& page) {
    return std::ranges::all_of(page.experiments, [&](auto const& found) {
        return found.error ? !page.has_more : !found.text.empty();
    });
}

/// The answer, made of the texts of the experiments.
class Answer {
public:
    void reserve(ExperimentPage const& page) {
        std::size_t bytes = body_.size();
        for (auto const& experiment : page.experiments) bytes += experiment.text.size() + 128;
        body_.reserve(bytes + 256);
    }
    /// \param text the JSON of its summary
    void add(std::string_view text, ExperimentSummary const& experiment) {
        if (count_++ > 0) body_ += ',';
        body_ += text.substr(0, text.rfind('}'));
        body_ += fmt::format(",\"best\":{},\"progress\":{}}}", best_text(experiment),
                             experiment.progress ? fmt::format("{:.4g}", *experiment.progress) : "null");
    }
    std::size_t size() const { return count_; }
    Response finish(std::string_view warnings, ExperimentPage const& last_page) && {
        auto const before =
            last_page.has_more ? to_string(last_page.experiments.back().id) : std::string("null");
        body_ += fmt::format("],\"before\":{},\"warnings\":{}}}\n", before, to_line(Json(warnings)));
        return {200, std::move(body_)};
    }

private:
    static std::string best_text(ExperimentSummary const& experiment) {
        auto const& best = experiment.best;
        if (!best) return "null";
        TrialId const trial{experiment.id, best->trial};
        return to_line(Json{
            {"trial", to_string(trial)}, {"value", best->value}, {"steps_completed", best->steps_completed}});
    }

    std::string body_ = "{\"experiments\":[";
    std::size_t count_ = 0;
};

/// The summaries of those experiments of a page that need Slurm's queue, if they pass the filter.
std::map<ExperimentId, std::string> summarise_with_queue(ExperimentPage const& page,
                                                         ExperimentFilter const& filter, Sources& sources,
                                                         WarningsContext& context) {
    std::vector<history::ExperimentRecord> records;
    for (auto const& found : page.experiments) {
        if (found.error || !found.text.empty()) continue;
        auto record = sources.history.load_experiment(found.id);
        if (record) {
            records.push_back(*std::move(record));
        } else if (record.error().code != codes::no_such_experiment) {  // else it has just been deleted
            context.warn(std::move(record).error().while_doing("reading experiment " + to_string(found.id)));
        }
    }
    auto const queue = experiment::query_queue(records, context);
    std::map<ExperimentId, std::string> summaries;
    for (auto& record : records) {
        auto const id = record.id;
        auto const view = view_experiment(std::move(record), queue);
        if (!filter.state || view.state == *filter.state)
            summaries[id] = to_line(history::to_summary_json(view));
    }
    return summaries;
}

/// Adds the experiments of a page to the answer.
void add_page(Answer& answer, ExperimentPage const& page, std::map<ExperimentId, std::string> const& others,
              WarningsContext& context) {
    answer.reserve(page);
    for (auto const& found : page.experiments) {
        if (found.error) {
            context.warn(Error(*found.error).while_doing("reading experiment " + to_string(found.id)));
        } else if (!found.text.empty()) {
            answer.add(found.text, found);
        } else if (auto const other = others.find(found.id); other != others.end()) {
            answer.add(other->second, found);
        }
    }
}

Response answer_without_queue(ExperimentPage const& page, Sources& sources) {
    WarningsContext context(sources);
    Answer answer;
    add_page(answer, page, {}, context);
    return std::move(answer).finish(context.warnings, page);
}

/// Reads further pages in place of the experiments that the queue excludes or that can't be read.
Response answer_with_queue(ExperimentPage page, ExperimentFilter filter, Sources& sources) {
    WarningsContext context(sources);
    Answer answer;
    auto const limit = filter.limit;
    for (;;) {
        add_page(answer, page, summarise_with_queue(page, filter, sources, context), context);
        if (!page.has_more || answer.size() >= limit) return std::move(answer).finish(context.warnings, page);
        filter.before = page.experiments.back().id.value;
        filter.limit = limit - answer.size();
        auto next = sources.history.list_summaries(filter);
        if (!next) return http::error_response(next.error());
        page = *std::move(next);
    }
}

void list_experiments(Request const& request, http::Responder const& responder, Sources& sources,
                      ServiceThread& services) {
    auto const filter = parse_filter(request);
    if (!filter) return responder.respond(http::error_response(filter.error()));
    auto page = sources.history.list_summaries(*filter);
    if (!page) return responder.respond(http::error_response(page.error()));
    if (is_complete(*page)) return responder.respond(answer_without_queue(*page, sources));
    services.add(responder, [page = *std::move(page), filter = *filter, &sources] {
        return answer_with_queue(page, filter, sources);
    });
}

}  // namespace

void add_experiment_routes(Routes& routes, Sources& sources, ServiceThread& services) {
    routes.push_back({http::Method::get, "/v1/experiments", http::AuthClass::owner,
                      [&sources, &services](Request const& request, http::Responder const& responder) {
                          list_experiments(request, responder, sources, services);
                      }});
}

}  // namespace det::tracker::api
