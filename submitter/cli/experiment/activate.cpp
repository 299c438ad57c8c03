#include <det/journal/event_log.hpp>
#include <det/protocol/json.hpp>

#include <chrono>
#include <fmt/format.h>
#include <set>

#include "command.hpp"
#include "open_experiment.hpp"
#include "resume_interrupted.hpp"
#include "tell_jobs.hpp"

namespace det::cli {
namespace {

class ExperimentActivate final : public Command {
public:
    std::vector<Option> options() override { return {{"id", &id_, "the experiment", Need::required}}; }

    Outcome run(Session& session) override {
        DET_TRY(activate(session));
        return ExitCode::done;
    }

private:
    Status activate(Session& session) const {
        DET_TRY_ASSIGN(auto const experiment, open_experiment_with_jobs(id_, session));
        DET_TRY(check(experiment));
        auto const& record = experiment.view.record;
        // A creation that was cut off is finished here.
        if (!is_recorded(record))
            DET_TRY(record_event(experiment, event_kinds::created, jobs_body(record.arrays()), session));
        DET_TRY(journal::write_desired(experiment.layout.desired(), Desired::run));
        DET_TRY_ASSIGN(auto const again, resubmit(experiment, plan_resubmission(experiment.view), session));
        DET_TRY(tell_jobs(plan_release(record.arrays()), session.slurm));
        DET_TRY(tell_jobs(plan_release(again), session.slurm));
        hasten(experiment.view, session);
        tell(experiment.id(), again, session);
        return Ok{};
    }

    static void tell(ExperimentId id, std::vector<ArrayJob> const& again, Session& session) {
        std::vector<std::string> jobs;
        for (auto const& array : again) jobs.push_back(std::to_string(array.job));
        if (session.wants_json()) {
            session.answer(Json{{"id", id.value}, {"desired", "run"}, {"resubmitted", jobs}});
        } else {
            session.say(fmt::format("Activated experiment {}", id.value));
            if (!jobs.empty())
                session.say(fmt::format("What was interrupted goes on in job {}", fmt::join(jobs, ", ")));
        }
    }

    /// Slurm would hold a job back for two minutes that was queued again when it was paused.
    static void hasten(tracker::history::ExperimentView const& view, Session& session) {
        std::set<slurm::JobRef> tasks;
        for (auto const& trial : view.trials) {
            auto const& runs = trial.record.runs;
            bool const was_paused =
                !runs.empty() && runs.back().ended && runs.back().ended->next_action == NextAction::requeue_held;
            if (was_paused && trial.job && trial.job->state == slurm::JobState::pending)
                tasks.insert(trial.job->ref);
        }
        for (auto const& task : tasks) {
            if (auto told = session.slurm.start_not_before(task, std::chrono::seconds(1)); !told)
                session.warn(std::move(told).error());
        }
    }

    /// Whether the `created` event lies on the disk: one that was made up from Slurm's jobs has no author.
    static bool is_recorded(tracker::history::ExperimentRecord const& record) {
        for (auto const& event : record.events) {
            if (event.kind == event_kinds::created) return !event.by.empty();
        }
        return false;
    }

    static Status check(OpenExperiment const& experiment) {
        auto const state = experiment.view.state;
        auto const id = experiment.id().value;
        if (experiment.view.record.arrays().empty() || !experiment.view.record.spec) {
            return Error{
                codes::wrong_state,
                fmt::format("experiment {} never reached Slurm: its creation was cut off", id),
                fmt::format("create it again; 'det-submit experiment kill {}' puts this one away", id)};
        }
        if (lifecycle::is_terminal(state) || experiment.view.record.desired == Desired::cancel ||
            experiment.view.record.desired == Desired::kill) {
            return Error{codes::wrong_state,
                         fmt::format("experiment {} has ended: it is {}", id, to_string(state)),
                         fmt::format("'det-submit experiment continue {}' lets it go on all the same", id)};
        }
        return Ok{};
    }

    std::string id_;
};

}  // namespace

std::unique_ptr<Command> make_experiment_activate() { return std::make_unique<ExperimentActivate>(); }

}  // namespace det::cli
