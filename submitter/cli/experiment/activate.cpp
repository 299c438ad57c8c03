
#include <det/experiment/control_experiment.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "command.hpp"

namespace det::cli {
namespace {

class ExperimentActivate final : public Command {
public:
    std::vector<Option> options() override { return {{"id", &id_, "the experiment", Need::required}}; }

    Outcome run(Session& session) override {
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
};

}  // namespace

std::unique_ptr<Command> make_experiment_activate() { return std::make_unique<ExperimentActivate>(); }

}  // namespace det::cli
