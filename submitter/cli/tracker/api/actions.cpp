// The actions of the page, in two steps: the client asks what an action will do, and gets the name of a
// confirmation, with which it is done once. Both steps run commands of det-submit.
#include "actions.hpp"

#include <det/experiment/open_experiment.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "action_table.hpp"
#include "commands.hpp"
#include "output/problems_json.hpp"
#include "warnings_context.hpp"

namespace det::tracker::api {
namespace {

Result<ActionRequest> parse_action_request(std::string const& body) {
    auto const json = try_parse_json(body);
    if (json.is_discarded() || !json.is_object())
        return Error{codes::bad_request, "the body is no JSON object", "see API.md"};
    ActionRequest request;
    for (auto const& [key, value] : json.items()) {
        auto* const text = key == "action"   ? &request.action
                           : key == "target" ? &request.target
                           : key == "value"  ? &request.value
                           : key == "config" ? &request.config
                                             : nullptr;
        if (text != nullptr && value.is_string()) {
            *text = value.get<std::string>();
        } else if (key == "paused" && value.is_boolean()) {
            request.is_paused = value.get<bool>();
        } else {
            return Error{codes::bad_request, fmt::format("the body has a wrong member '{}'", key),
                         "see API.md"};
        }
    }
    return request;
}

/// What an action will do.
struct Preview {
    std::vector<std::string> summary = {};
    Json answer = nullptr;  // of the command's --dry-run
    std::string messages = {};
};

/// Describes by the state of the experiment.
Result<Preview, Diagnostics> preview_by_state(Action const& action, ActionRequest const& request,
                                              Sources& sources) {
    auto const id = action.target == Action::Target::trial
                        ? to_string(parse_trial_id(request.target)->experiment)
                        : request.target;
    WarningsContext context(sources);
    context.make_history = [&sources](RootLayout const&) {
        return std::shared_ptr<history::History>(std::shared_ptr<void>(), &sources.history);
    };
    DET_TRY_ASSIGN(auto const experiment,
                   experiment::open_experiment(id, experiment::SlurmAnswer::optional, context));
    if (action.target == Action::Target::trial)
        DET_TRY(experiment::require_trial(experiment.view, *parse_trial_id(request.target)));
    return Preview{action.describe(experiment.view, request), nullptr, context.warnings};
}

/// Asks the command itself. sources.slurm changes nothing.
Result<Preview, Diagnostics> preview_by_dry_run(ActionCommand command, Sources& sources) {
    command.arguments.insert(std::ranges::find(command.arguments, "--json"), "--dry-run");
    DET_TRY_ASSIGN(auto output, run_det_submit(command.arguments, command.input, Records::journals, sources,
                                               sources.slurm));
    // The client knows that nothing was changed.
    std::string messages;
    for (auto const line : split_lines(output.messages))
        if (line != "dry run: nothing was changed") messages += std::string(line) + '\n';
    return Preview{{}, std::move(output.answer), std::move(messages)};
}

/// 409 for an action that is not possible now.
Response refusal(Diagnostics const& problems) {
    auto const error = first_error(problems);
    auto const status = http::status_of(error);
    return http::error_response(status == 500 && error.code != codes::internal ? 409 : status, error);
}

Response plan_action(Request const& request, Sources& sources, Confirmations& confirmations) {
    if (auto known = reject_unknown_parameters(request, {}); !known)
        return http::error_response(known.error());
    auto const wanted = parse_action_request(request.body);
    if (!wanted) return http::error_response(wanted.error());
    auto const action = find_action(*wanted);
    if (!action) return http::error_response(action.error());
    auto command = command_of(**action, *wanted);
    auto preview = (*action)->preview == Action::Preview::dry_run
                       ? preview_by_dry_run(command, sources)
                       : preview_by_state(**action, *wanted, sources);
    if (!preview && !wanted->config.empty())
        return json_response(
            Json{{"confirmation", nullptr}, {"problems", cli::problems_json(preview.error())}});
    if (!preview) return refusal(preview.error());
    return json_response(
        Json{{"confirmation", confirmations.add(std::move(command), sources.clock.steady_now())},
             {"lifetime_s", Confirmations::lifetime.count()},
             {"command", command_text(**action, *wanted)},
             {"summary", std::move(preview->summary)},
             {"answer", std::move(preview->answer)},
             {"messages", std::move(preview->messages)},
             {"problems", Json::array()}});
}

Response do_action(ActionCommand const& command, Sources& sources, ActionTools const& tools) {
    auto output = run_det_submit(command.arguments, command.input, Records::journals, sources, tools.slurm);
    tools.on_done();
    if (!output) return refusal(output.error());
    return json_response(
        Json{{"answer", std::move(output->answer)}, {"messages", std::move(output->messages)}});
}

Error no_confirmation() {
    return Error{codes::forbidden, "this was confirmed before, or is too old to be confirmed",
                 "ask again what it will do"};
}

}  // namespace

void add_action_routes(Routes& routes, Sources& sources, ActionTools const& tools) {
    http::DeferredHandler plan = [&sources, tools](Request const& request, http::Responder const& responder) {
        tools.services.add(responder, [&sources, tools, request] {
            return plan_action(request, sources, tools.confirmations);
        });
    };
    http::DeferredHandler confirm = [&sources, tools](Request const& request,
                                                      http::Responder const& responder) {
        auto const known = reject_unknown_parameters(request, {});
        if (!known) return responder.respond(http::error_response(known.error()));
        auto const name = request.path_values.find("confirmation")->second;
        // Taken by the work: a confirmation that finds no place in the queue stays valid.
        auto confirmed = [&sources, tools, name, now = sources.clock.steady_now()] {
            auto const command = tools.confirmations.take(name, now);
            return command ? do_action(*command, sources, tools) : http::error_response(no_confirmation());
        };
        tools.services.add(responder, std::move(confirmed), ServiceThread::IfClientGoes::run);
    };
    routes.push_back({http::Method::post, "/v1/actions", http::AuthClass::acting_owner, std::move(plan)});
    routes.push_back({http::Method::post, "/v1/actions/{confirmation}", http::AuthClass::acting_owner,
                      std::move(confirm)});
}

}  // namespace det::tracker::api
