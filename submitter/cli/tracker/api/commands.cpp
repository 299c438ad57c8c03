// What commands of det-submit print with --json, over HTTP.
#include "commands.hpp"

#include <sstream>

#include "arguments.hpp"

namespace det::tracker::api {
namespace {

/// A parameter of the query that becomes an option of the command.
struct Parameter {
    std::string_view name;
    std::string_view option;
};

enum class AsksService { no, yes };

struct CommandRoute {
    std::string_view pattern;
    std::vector<std::string> words;  // of the command; {experiment} and {trial} stand for the ids in the path
    std::vector<Parameter> parameters;
    AsksService asks_service = AsksService::yes;
};

std::vector<CommandRoute> const& command_routes() {
    static std::vector<CommandRoute> const routes{
        {"/v1/experiments/{experiment}", {"experiment", "describe", "{experiment}"}, {}},
        {"/v1/experiments/{experiment}/checkpoints",
         {"experiment", "list-checkpoints", "{experiment}"},
         {{"best", "--best"}}},
        {"/v1/experiments/{experiment}/report", {"experiment", "report", "{experiment}"}, {}},
        {"/v1/experiments/{experiment}/search", {"experiment", "describe", "{experiment}", "--search"}, {}},
        {"/v1/experiments/{experiment}/trials", {"experiment", "list-trials", "{experiment}"}, {}},
        {"/v1/jobs",
         {"job", "list"},
         {{"pool", "--resource-pool"}, {"user", "--user"}, {"limit", "--limit"}}},
        {"/v1/pools", {"resource-pool", "list"}, {}},
        {"/v1/trials/{trial}", {"trial", "describe", "{trial}"}, {}},
        {"/v1/trials/{trial}/profile", {"trial", "profile", "{trial}"}, {}, AsksService::no},
    };
    return routes;
}

Result<std::vector<std::string>> arguments_of(CommandRoute const& route, Request const& request) {
    std::vector<std::string_view> names;
    for (auto const& parameter : route.parameters) names.push_back(parameter.name);
    DET_TRY(reject_unknown_parameters(request, names));
    std::vector<std::string> arguments;
    for (auto const& word : route.words) {
        if (word == "{experiment}") {
            DET_TRY_ASSIGN(auto const id, experiment_of(request));
            arguments.push_back(to_string(id));
        } else if (word == "{trial}") {
            DET_TRY_ASSIGN(auto const id, trial_of(request));
            arguments.push_back(to_string(id));
        } else {
            arguments.push_back(word);
        }
    }
    // One word each: a value can't become another option.
    for (auto const& parameter : route.parameters) {
        if (auto const value = text_parameter(request, parameter.name))
            arguments.push_back(std::string(parameter.option) + "=" + *value);
    }
    arguments.push_back("--json");
    return arguments;
}

/// Answers with a command that only reads. Its warnings are part of the answer.
Result<Json> answer_by_command(CommandRoute const& route, Sources& sources, Request const& request) {
    DET_TRY_ASSIGN(auto const arguments, arguments_of(route, request));
    auto output = run_det_submit(arguments, {}, Records::index, sources, sources.slurm);
    if (!output) return first_error(output.error());
    return Json{{"answer", std::move(output->answer)}, {"warnings", std::move(output->messages)}};
}

}  // namespace

Error first_error(Diagnostics const& problems) {
    for (auto const& found : problems.sorted()) {
        if (found.severity == Severity::error) return found.error;
    }
    return Error{codes::internal, "the command failed without an error"};
}

Result<CommandOutput, Diagnostics> run_det_submit(std::vector<std::string> const& arguments,
                                                  std::string const& input, Records records, Sources& sources,
                                                  slurm::SlurmClient& slurm) {
    auto invocation = cli::parse_command_line(arguments);
    if (!invocation) {
        auto error = std::move(invocation).error();
        error.code = codes::bad_request;
        error.hint = "see API.md";
        return error;
    }
    std::ostringstream answer, messages;
    std::istringstream in(input);
    cli::Session session(sources.environment, answer, messages, {}, sources.clock, slurm, cli::Format::json,
                         sources.cache);
    session.in = &in;
    session.foreign_root = sources.foreign_root;
    if (sources.root.places()) session.places = sources.root.places();
    // The argument is not needed: DET_ROOT names the root that sources.history reads.
    if (records == Records::index) {
        session.make_history = [&sources](RootLayout const&) {
            return std::shared_ptr<history::History>(std::shared_ptr<void>(), &sources.history);
        };
    }
    auto const outcome = cli::run_command(*invocation, session);
    if (!outcome) return outcome.error();
    auto json = try_parse_json(answer.str());
    if (json.is_discarded()) return Error{codes::internal, "the command's answer is not JSON"};
    return CommandOutput{std::move(json), messages.str()};
}

void add_command_routes(Routes& routes, Sources& sources, ServiceThread& services) {
    for (auto const& route : command_routes()) {
        auto const answer = [&route, &sources](Request const& request) {
            return answer_by_command(route, sources, request);
        };
        routes.push_back(route.asks_service == AsksService::yes
                             ? get_service_route(std::string(route.pattern), services, answer)
                             : get_route(std::string(route.pattern), answer));
    }
}

}  // namespace det::tracker::api
