
#include <det/experiment/control_experiment.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "experiment/accept_damage_option.hpp"

namespace det::cli {
namespace {

class ExperimentActivate final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required}, accept_damage_option(&accepts_damage_)};
    }

    Outcome run(Session& session) override {
        if (accepts_damage_) DET_TRY(experiment::accept_journal_damage(id_, session));
        DET_TRY_ASSIGN(auto const activated, experiment::activate_experiment(id_, session));
        std::vector<std::string> jobs;
        for (auto const& array : activated.resubmitted) jobs.push_back(std::to_string(array.job));
        if (session.wants_json()) {
            session.answer(Json{{"id", activated.id.value}, {"desired", "run"}, {"resubmitted", jobs}});
        } else {
            session.say(fmt::format("Activated experiment {}", activated.id.value));
            if (!jobs.empty())
                session.say(fmt::format("Interrupted trials run again in job {}", fmt::join(jobs, ", ")));
        }
        return ExitCode::done;
    }

private:
    std::string id_;
    bool accepts_damage_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_activate() { return std::make_unique<ExperimentActivate>(); }

}  // namespace det::cli
