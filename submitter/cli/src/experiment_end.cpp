// experiment cancel, experiment kill and trial kill: what is desired is written down first, so that a
// supervisor that ends knows why, and Slurm is told second.
#include <det/foundation/files.hpp>
#include <det/journal/event_log.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "open_experiment.hpp"
#include "tell_jobs.hpp"
#include "views.hpp"

namespace det::cli {
namespace {

/// Nothing that is asked for mildly takes back what was asked for strictly.
Status desire(std::filesystem::path const& path, Desired wanted) {
    DET_TRY_ASSIGN(auto const now, journal::load_desired(path));
    if (stricter(now, wanted) == now) return Ok{};
    return journal::write_desired(path, wanted);
}

class EndExperiment final : public Command {
public:
    explicit EndExperiment(Desired desired) : desired_(desired) {}
    std::vector<Option> options() override { return {{"id", &id_, "the experiment", Need::required}}; }

    Outcome run(Session& session) override {
        DET_TRY(end(session));
        return ExitCode::done;
    }

private:
    Status end(Session& session) const {
        DET_TRY_ASSIGN(auto const experiment, open_experiment_with_jobs(id_, session));
        auto const& view = experiment.view;
        if (lifecycle::is_terminal(view.state)) {
            return Error{codes::wrong_state, fmt::format("experiment {} has ended: it is {}",
                                                         experiment.id().value, to_string(view.state))};
        }
        DET_TRY(desire(experiment.layout.desired(), desired_));
        auto const steps = plan_end(view, desired_);
        auto done = tell_jobs(steps, session.slurm);
        if (!done) {
            return std::move(done).error().noting(fmt::format(
                "experiment {} is marked for its end; say it again later", experiment.id().value));
        }
        answer(experiment, steps, session);
        return Ok{};
    }

    void answer(OpenExperiment const& experiment, std::vector<JobStep> const& steps, Session& session) const {
        if (session.wants_json()) {
            auto jobs = Json::array();
            for (auto const& step : steps) jobs.push_back(slurm::to_string(step.job));
            session.answer(
                Json{{"id", experiment.id().value}, {"desired", to_string(desired_)}, {"jobs", jobs}});
            return;
        }
        session.say(fmt::format("{} experiment {}", desired_ == Desired::kill ? "Killed" : "Canceled",
                                experiment.id().value));
    }

    Desired desired_;
    std::string id_;
};

class TrialKill final : public Command {
public:
    std::vector<Option> options() override { return {{"id", &id_, "the trial", Need::required}}; }

    Outcome run(Session& session) override {
        DET_TRY(end(session));
        return ExitCode::done;
    }

private:
    Status end(Session& session) const {
        DET_TRY_ASSIGN(auto const id, require_trial_id(id_));
        DET_TRY_ASSIGN(auto const experiment, open_experiment_with_jobs(to_string(id.experiment), session));
        auto const& view = experiment.view;
        DET_TRY_ASSIGN(auto const trial, require_trial(view, id));
        if (lifecycle::is_terminal(trial.state)) {
            return Error{codes::wrong_state,
                         fmt::format("trial {} has ended: it is {}", to_string(id), to_string(trial.state))};
        }
        auto const layout = experiment.layout.trial(id.index);
        DET_TRY(make_directories(layout.path()));
        DET_TRY(desire(layout.desired(), Desired::kill));
        DET_TRY(tell_jobs(plan_kill(view.record, trial), session.slurm));
        if (session.wants_json()) {
            session.answer(Json{{"id", to_integer(id)}, {"name", to_string(id)}, {"desired", "kill"}});
        } else {
            session.say(fmt::format("Killed trial {}", to_string(id)));
        }
        return Ok{};
    }

    std::string id_;
};

}  // namespace

std::unique_ptr<Command> make_experiment_cancel() { return std::make_unique<EndExperiment>(Desired::cancel); }
std::unique_ptr<Command> make_experiment_kill() { return std::make_unique<EndExperiment>(Desired::kill); }
std::unique_ptr<Command> make_trial_kill() { return std::make_unique<TrialKill>(); }

}  // namespace det::cli
