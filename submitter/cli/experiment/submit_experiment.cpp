#include "experiment/submit_experiment.hpp"

#include <det/experiment/create_experiment.hpp>
#include <det/experiment/find_start_times.hpp>
#include <det/experiment/open_experiment.hpp>
#include <det/experiment/storage_space.hpp>
#include <det/experiment/submit_arrays.hpp>
#include <det/foundation/count_text.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_or_null.hpp>
#include <det/tracker/history/attributes.hpp>

#include <fmt/format.h>
#include <ostream>

#include "experiment/interrupt_notice.hpp"
#include "experiment/live_status.hpp"
#include "logs/log_follower.hpp"
#include "logs/log_line.hpp"
#include "logs/terminal_lines.hpp"
#include "output/output_style.hpp"

namespace det::cli {
namespace {

/// Describes nodes and trials: "2 nodes of 4 slots", "100 trials, 16 at a time, each on 1 node of 4 slots",
/// "100 trials, 16 at a time, 8 of them to a node, each with 1 slot".
std::string describe_trials(plan::SubmissionPlan const& plan) {
    auto const slots = count_text(plan.shape.slots_per_node, "slot");
    auto nodes = fmt::format("{} of {}", count_text(plan.shape.nodes, "node"), slots);
    if (plan.is_elastic()) nodes = fmt::format("{} to {}", plan.nodes_min, nodes);
    if (plan.spare_nodes > 0) nodes += fmt::format(" and {} to spare", plan.spare_nodes);
    if (plan.trial_count == 1) return nodes;
    auto const trials = fmt::format("{} trials, {} at a time", plan.trial_count, plan.concurrent_trials_max);
    if (plan.lanes == 1) return fmt::format("{}, each on {}", trials, nodes);
    return fmt::format("{}, {} of them to a node, each with {}", trials, plan.lanes, slots);
}

Outcome print_script(experiment::SubmissionRequest const& request, Session& session) {
    DET_TRY_ASSIGN(auto const accepted, experiment::check_creation(request, session));
    DET_TRY_ASSIGN(auto const script, experiment::render_script_of(request, accepted.arrays.front()));
    auto const options = experiment::first_sbatch_options(request);
    // The header of a batch script is on sbatch's command line.
    auto text = script;
    if (request.script) {
        text += "\n# It is submitted with:\n";
        for (auto const& option : options)
            text += fmt::format("#   {}\n", escape_control(quote_for_shell(option)));
    }
    session.answer(Json{{"name", request.config.name},
                        {"resource_pool", request.plan.pool.name},
                        {"trials", describe_trials(request.plan)},
                        {"script", script},
                        {"sbatch_options", options}},
                   text);
    return ExitCode::done;
}

Json as_json(experiment::SubmissionRequest const& request, experiment::CreatedExperiment const& created) {
    auto ids = Json::array();
    for (auto const job : created.jobs) ids.push_back(std::to_string(job));
    auto const& [start, unknown_because] = created.expected_start;
    return {{"id", created.id.value},
            {"name", request.config.name},
            {"job_id", ids.front()},
            {"job_ids", ids},
            {"trial_count", request.plan.trial_count},
            {"resource_pool", request.plan.pool.name},
            {"nodes", request.plan.shape.nodes},
            {"nodes_min", request.plan.is_elastic() ? request.plan.nodes_min : request.plan.shape.nodes},
            {"slots_per_node", request.plan.shape.slots_per_node},
            {"trials_per_job", request.plan.lanes},
            {"exclusive", request.plan.node.is_exclusive},
            {"start_estimate", text_or_null(start)},
            {"start_unknown_because", text_or_null(unknown_because)},
            {"path", created.path.string()}};
}

/// \param is_followed whether this command shows what follows
void print_text(experiment::SubmissionRequest const& request, experiment::CreatedExperiment const& created,
                bool is_followed, Session& session) {
    bool const is_paused = request.desired == DesiredState::pause;
    session.out << fmt::format("Created experiment {}\n", created.id.value);
    session.out.flush();
    auto text = fmt::format("job {} in pool '{}': {}", fmt::join(created.jobs, ", "), request.plan.pool.name,
                            describe_trials(request.plan));
    if (!is_followed)
        text += fmt::format("; {} it with 'det-submit experiment {} {}'", is_paused ? "start" : "follow",
                            is_paused ? "activate" : "wait", created.id.value);
    session.say(text);
    auto const& [start, unknown_because] = created.expected_start;
    if (auto const time = experiment::parse_local_time(start))
        session.say("Slurm expects it to start: " + answer_style_of(session).time(time));
    if (!unknown_because.empty())
        session.say(fmt::format("Slurm can't tell when it will start: {}", unknown_because));
}

void warn_about_storage(experiment::SubmissionRequest const& request, Session& session) {
    SystemProcessRunner runner;
    auto const places = experiment::inspect_storage(request, session.environment, runner);
    auto const files = experiment::files_of(request.plan.trial_count, request.plan.shape.nodes);
    for (auto const& warning : experiment::find_storage_warnings(places, files)) session.warn(warning);
}

Status archive(ExperimentId id, Session& session) {
    DET_TRY_ASSIGN(auto const experiment,
                   experiment::open_experiment(to_string(id), experiment::SlurmAnswer::optional, session));
    auto [kind, body] = tracker::history::changes::archive();
    return experiment::record_event(experiment, kind, std::move(body), session);
}

}  // namespace

Outcome follow_submitted_trial(RootLayout const& root, TrialId trial, Session& session) {
    auto const id = trial.experiment;
    // With --json only the answer goes to stdout.
    auto& out = session.wants_json() ? session.err : session.out;
    LiveStatus status(root, id, LiveStatus::Answer::log_lines, session);
    InterruptNotice const notice(id, fmt::format("logs --follow {}", id.value), session);
    TerminalLines lines(!session.wants_json() &&
                        output_style_of(session.environment, session.destination).has_colour);
    auto const print = [&](LogLine const& line) {
        status.clear();
        out << lines.format(line) << '\n';
        return SinkResult::go_on;
    };
    LogFollower follower(ExperimentLayout(root, id).trial(trial.index), {});
    auto const after_reading = [&](tracker::history::ExperimentView const& view) {
        out.flush();
        status.update(view);
    };
    DET_TRY_ASSIGN(auto const view, follow_trial(root, trial, follower, print, after_reading, session));
    auto const state = view.trials[trial.index].state;
    if (view.trials.size() == 1) {
        status.print_result(view);
    } else {
        session.say(fmt::format("trial {}: {}", to_string(trial), to_string(state)));
        if (state == lifecycle::State::error) status.print_failure(view.trials[trial.index]);
        if (!experiment::is_settled(view.state))
            session.say(fmt::format(
                "the other trials go on; wait for them with 'det-submit experiment wait {}'", id.value));
    }
    if (state != lifecycle::State::completed) {
        return Error{codes::experiment_failed,
                     fmt::format("trial {} ended as {}", to_string(trial), to_string(state)),
                     fmt::format("see 'det-submit experiment describe {}'", id.value)};
    }
    return ExitCode::done;
}

Outcome submit_experiment(experiment::SubmissionOptions const& options, SubmitFlags flags, Session& session) {
    DET_TRY_ASSIGN(auto const request, experiment::make_submission_request(options, session));
    warn_about_storage(request, session);
    if (flags.is_dry_run) return print_script(request, session);
    DET_TRY_ASSIGN(auto const created, experiment::create_experiment(request, session));
    bool const is_followed =
        (flags.follows_first_trial || options.sources.is_test) && options.desired == DesiredState::run;
    if (session.wants_json()) {
        session.answer(as_json(request, created));
    } else {
        print_text(request, created, is_followed, session);
    }
    if (!is_followed) return ExitCode::done;
    DET_TRY_ASSIGN(auto const ended, follow_submitted_trial(request.root, {created.id, 0}, session));
    if (!options.sources.is_test) return ended;
    DET_TRY(archive(created.id, session));
    session.say("the test completed");
    return ended;
}

}  // namespace det::cli
