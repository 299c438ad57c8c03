#include "experiment/submit_experiment.hpp"

#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/attributes.hpp>

#include <fmt/format.h>
#include <ostream>

#include "create_experiment.hpp"
#include "logs/log_follower.hpp"
#include "logs/log_printer.hpp"
#include "open_experiment.hpp"
#include "submission.hpp"

namespace det::cli {
namespace {

Outcome show(Creation const& creation, Session& session) {
    DET_TRY_ASSIGN(auto const script, preview_script(creation));
    if (session.wants_json()) {
        session.answer(Json{{"script", script}});
    } else {
        session.out << script;
    }
    return ExitCode::done;
}

std::string counted(std::int64_t number, std::string_view what) {
    return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

/// "2 nodes of 4 slots", "100 trials, 16 at a time, each on 1 node of 4 slots", "100 trials, 16 at a time, 8
/// of them to a node, each with 1 slot".
std::string describe_trials(plan::SubmissionPlan const& plan) {
    auto const slots = counted(plan.shape.slots_per_node, "slot");
    auto nodes = fmt::format("{} of {}", counted(plan.shape.nodes, "node"), slots);
    if (plan.spare_nodes > 0) nodes += fmt::format(" and {} to spare", plan.spare_nodes);
    if (plan.trial_count == 1) return nodes;
    auto const trials = fmt::format("{} trials, {} at a time", plan.trial_count, plan.concurrent_trials_max);
    if (plan.lanes == 1) return fmt::format("{}, each on {}", trials, nodes);
    return fmt::format("{}, {} of them to a node, each with {}", trials, plan.lanes, slots);
}

Json as_json(Creation const& creation, CreatedExperiment const& created) {
    auto ids = Json::array();
    for (auto const job : created.jobs) ids.push_back(std::to_string(job));
    auto const& estimate = created.start_estimate;
    return {{"id", created.id.value},
            {"name", creation.config.name},
            {"job_id", ids.front()},
            {"job_ids", ids},
            {"trial_count", creation.plan.trial_count},
            {"resource_pool", creation.plan.pool.name},
            {"nodes", creation.plan.shape.nodes},
            {"slots_per_node", creation.plan.shape.slots_per_node},
            {"trials_per_job", creation.plan.lanes},
            {"start_estimate", estimate.empty() ? Json(nullptr) : Json(estimate)},
            {"path", created.path.string()}};
}

void tell(Creation const& creation, CreatedExperiment const& created, Session& session) {
    bool const is_paused = creation.desired == Desired::pause;
    session.out << fmt::format("Created experiment {}\n", created.id.value);
    session.out.flush();
    session.say(fmt::format("job {} in pool '{}': {}; {} it with 'det-submit experiment {} {}'",
                            fmt::join(created.jobs, ", "), creation.plan.pool.name,
                            describe_trials(creation.plan), is_paused ? "start" : "follow",
                            is_paused ? "activate" : "wait", created.id.value));
    if (!created.start_estimate.empty())
        session.say(fmt::format("Slurm expects it to start at {}", escape_control(created.start_estimate)));
}

Status put_away(ExperimentId id, Session& session) {
    DET_TRY_ASSIGN(auto const experiment, open_experiment(to_string(id), session));
    auto [kind, body] = tracker::history::changes::archive();
    return record_event(experiment, kind, std::move(body), session);
}

Outcome follow(ExperimentRequest const& request, Creation const& creation, ExperimentId id,
               Session& session) {
    // With --json the answer alone goes to stdout.
    auto& out = session.wants_json() ? session.err : session.out;
    auto const print = [&](LogLine const& line) {
        out << harmless(line.whole) << '\n';
        return Go::on;
    };
    LogFollower follower(ExperimentLayout(creation.root, id).trial(0), {});
    auto const state = follow_trial(
        creation.root, {id, 0}, follower, print, [&] { out.flush(); }, session);
    if (!state) return state.error();
    bool const went_well = *state == lifecycle::State::completed;
    if (!went_well) {
        return Error{codes::experiment_failed,
                     fmt::format("trial {} ended as {}", to_string(TrialId{id, 0}), to_string(*state)),
                     fmt::format("see 'det-submit experiment describe {}'", id.value)};
    }
    session.say(fmt::format("trial {}: {}", to_string(TrialId{id, 0}), to_string(*state)));
    if (!request.is_test) return ExitCode::done;
    DET_TRY(put_away(id, session));
    session.say("the test went well");
    return ExitCode::done;
}

}  // namespace

Outcome submit_experiment(ExperimentRequest const& request, Session& session) {
    DET_TRY_ASSIGN(auto const creation, prepare_creation(request, session));
    if (request.is_dry_run) return show(creation, session);
    DET_TRY_ASSIGN(auto const created, create_experiment(creation, session));
    if (session.wants_json()) {
        session.answer(as_json(creation, created));
    } else {
        tell(creation, created, session);
    }
    bool const is_followed = (request.follow || request.is_test) && request.desired == Desired::run;
    return is_followed ? follow(request, creation, created.id, session) : Outcome(ExitCode::done);
}

}  // namespace det::cli
