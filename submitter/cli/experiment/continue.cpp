#include <det/checkpoint/storage/open_store.hpp>
#include <det/protocol/json.hpp>
#include <det/retention/committed.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "command.hpp"
#include "continue_experiment.hpp"
#include "make_spec.hpp"
#include "prepare_creation.hpp"
#include "submission.hpp"

namespace det::cli {
namespace {

/// Of those that ran, the trials that left nothing to go on from. None where that can't be told.
std::vector<std::uint32_t> find_new_beginnings(Continuation const& continuation,
                                               Environment const& environment) {
    auto const& record = continuation.experiment.view.record;
    auto const store = checkpoint::storage::open_store(*record.spec, environment);
    if (!store) return {};
    auto const checkpoints =
        retention::list_stored_checkpoints(continuation.experiment.layout, *record.spec, **store);
    if (!checkpoints) return {};
    std::vector<std::uint32_t> anew;
    for (auto const trial : continuation.trials) {
        bool const has_run = !record.trials.at(trial).runs.empty();
        if (has_run &&
            std::ranges::find(*checkpoints, trial, &retention::KnownCheckpoint::trial) == checkpoints->end())
            anew.push_back(trial);
    }
    return anew;
}

class ExperimentContinue final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"changes", &changes_, "a file with what is to change of its configuration"},
                {"--config-file", &config_file_, "the same, as Determined has it"},
                {"--config", &overrides_, "key=value, over its configuration"}};
    }

    Outcome run(Session& session) override {
        if (changes_ && config_file_) return Error{codes::usage, "two files with changes", "use one"};
        DET_TRY_ASSIGN(auto experiment, open_experiment_with_jobs(id_, session));
        if (has_just_been_continued(experiment.view)) return repeat(experiment, session);
        return go_on(std::move(experiment), session);
    }

private:
    Outcome go_on(OpenExperiment experiment, Session& session) const {
        DET_TRY_ASSIGN(auto trials, plan_continuation(experiment.view));
        DET_TRY_ASSIGN(auto creation, prepare(experiment, session));
        auto const& before = *experiment.view.record.spec;
        auto changes = find_changes(before, creation.config);
        auto refused = check_changes(changes);
        auto const after = make_spec(creation, before.id, before.context, {});
        if (before.searcher.name != "single") refused.append(check_points(before, after, trials, changes));
        if (refused.has_errors()) return refused;
        Continuation const continuation{std::move(experiment), std::move(creation), std::move(changes),
                                        std::move(trials)};
        DET_TRY_ASSIGN(auto const continued, continue_experiment(continuation, session));
        tell(continuation, continued, session);
        return ExitCode::done;
    }

    /// As if it had not been done: nothing has begun since.
    Outcome repeat(OpenExperiment const& experiment, Session& session) const {
        auto const& record = experiment.view.record;
        DET_TRY_ASSIGN(auto creation, prepare(experiment, session));
        if (!find_changes(*record.spec, creation.config).empty()) {
            return Error{codes::wrong_state,
                         fmt::format("experiment {} was continued already, with another configuration",
                                     record.id.value),
                         fmt::format("end it with 'det-submit experiment cancel {}' first", record.id.value)};
        }
        std::vector<std::uint32_t> trials;
        for (auto const& [trial, run] : record.spec->revisions.back().first_runs) trials.push_back(trial);
        auto const arrays = pick_tasks(record.arrays(), trials);
        DET_TRY(finish_continuation(experiment.layout, arrays, session));
        tell({experiment, std::move(creation), {}, trials}, {record.revision(), arrays}, session);
        return ExitCode::done;
    }

    Result<Creation, Diagnostics> prepare(OpenExperiment const& experiment, Session& session) const {
        auto const& record = experiment.view.record;
        ExperimentRequest request;
        request.sources = {experiment.layout.config(), {}, overrides_};
        request.sources.secrets = experiment.layout.secrets();
        if (changes_) request.sources.changes = *changes_;
        if (config_file_) request.sources.changes = *config_file_;
        request.packed_code = record.spec->context;
        request.parent = record.spec->parent;
        DET_TRY_ASSIGN(auto creation, prepare_creation(std::move(request), session));
        DET_TRY(find_stored_code(creation));
        return creation;
    }

    static void tell(Continuation const& continuation, ContinuedExperiment const& continued,
                     Session& session) {
        auto const id = continuation.experiment.id();
        std::vector<std::string> trials, jobs;
        for (auto const trial : continuation.trials) trials.push_back(to_string(TrialId{id, trial}));
        for (auto const& array : continued.arrays) jobs.push_back(std::to_string(array.job));
        if (session.wants_json()) {
            return session.answer(Json{{"id", id.value},
                                       {"revision", continued.revision},
                                       {"trials", trials},
                                       {"job_ids", jobs},
                                       {"changes", to_json(continuation.changes)}});
        }
        for (auto const& change : continuation.changes) session.say(describe(change));
        for (auto const trial : find_new_beginnings(continuation, session.environment))
            session.say(
                fmt::format("trial {} has no checkpoint: it begins anew", to_string(TrialId{id, trial})));
        session.say(fmt::format("Continued experiment {}", id.value));
        session.say(fmt::format("trial{} {} in job {}; follow it with 'det-submit experiment wait {}'",
                                trials.size() == 1 ? "" : "s", fmt::join(trials, ", "), fmt::join(jobs, ", "),
                                id.value));
    }

    std::string id_;
    std::optional<std::string> changes_, config_file_;
    std::vector<std::string> overrides_;
};

}  // namespace

std::unique_ptr<Command> make_experiment_continue() { return std::make_unique<ExperimentContinue>(); }

}  // namespace det::cli
