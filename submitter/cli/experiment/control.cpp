// The commands that pause, resume and end an experiment.
#include <det/experiment/control_experiment.hpp>
#include <det/protocol/desired_state.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "experiment/accept_damage_option.hpp"

namespace det::cli {
namespace {

/// A command that takes an experiment and --accept-damage.
class Control : public Command {
public:
    std::vector<Option> options() final {
        return {{"id", &id_, "the experiment", Need::required}, accept_damage_option(&accepts_damage_)};
    }
    Outcome run(Session& session) final {
        if (accepts_damage_) DET_TRY(experiment::accept_journal_damage(id_, session));
        DET_TRY(control(id_, session));
        return ExitCode::done;
    }

private:
    virtual Status control(std::string const& id, Session& session) = 0;

    std::string id_;
    bool accepts_damage_ = false;
};

class Pause final : public Control {
    Status control(std::string const& id, Session& session) override {
        DET_TRY_ASSIGN(auto const paused, experiment::pause_experiment(id, session));
        session.print_confirmation(Json{{"id", paused.value}, {"desired", "pause"}},
                                   fmt::format("Paused experiment {}", paused.value));
        return Ok{};
    }
};

class Activate final : public Control {
    Status control(std::string const& id, Session& session) override {
        DET_TRY_ASSIGN(auto const activated, experiment::activate_experiment(id, session));
        std::vector<std::string> jobs;
        for (auto const& array : activated.resubmitted) jobs.push_back(std::to_string(array.job));
        if (session.wants_json()) {
            session.answer(Json{{"id", activated.id.value}, {"desired", "run"}, {"resubmitted", jobs}});
            return Ok{};
        }
        session.say(fmt::format("Activated experiment {}", activated.id.value));
        if (!jobs.empty())
            session.say(fmt::format("Interrupted trials run again in job {}", fmt::join(jobs, ", ")));
        return Ok{};
    }
};

class End final : public Control {
public:
    End(DesiredState desired, std::string_view done) : desired_(desired), done_(done) {}

private:
    Status control(std::string const& id, Session& session) override {
        DET_TRY_ASSIGN(auto const ended, experiment::end_experiment(id, desired_, session));
        auto jobs = Json::array();
        for (auto const& update : ended.updates) jobs.push_back(slurm::to_string(update.job));
        session.print_confirmation(
            Json{{"id", ended.id.value}, {"desired", to_string(desired_)}, {"jobs", std::move(jobs)}},
            fmt::format("{} experiment {}", done_, ended.id.value));
        return Ok{};
    }

    DesiredState desired_;
    std::string_view done_;
};

}  // namespace

std::unique_ptr<Command> make_experiment_pause() { return std::make_unique<Pause>(); }
std::unique_ptr<Command> make_experiment_activate() { return std::make_unique<Activate>(); }
std::unique_ptr<Command> make_experiment_cancel() {
    return std::make_unique<End>(DesiredState::cancel, "Canceled");
}
std::unique_ptr<Command> make_experiment_kill() {
    return std::make_unique<End>(DesiredState::kill, "Killed");
}

}  // namespace det::cli
