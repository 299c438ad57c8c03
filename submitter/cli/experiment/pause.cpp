#include <det/journal/event_log.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "open_experiment.hpp"
#include "tell_jobs.hpp"

namespace det::cli {
namespace {

class ExperimentPause final : public Command {
public:
    std::vector<Option> options() override { return {{"id", &id_, "the experiment", Need::required}}; }

    Outcome run(Session& session) override {
        DET_TRY(pause(session));
        return ExitCode::done;
    }

private:
    Status pause(Session& session) const {
        DET_TRY_ASSIGN(auto const experiment, open_experiment_with_jobs(id_, session));
        auto const& view = experiment.view;
        auto const id = experiment.id().value;
        if (lifecycle::is_terminal(view.state) || view.record.desired > Desired::pause) {
            return Error{codes::wrong_state,
                         fmt::format("experiment {} can't be paused: it is {}", id, to_string(view.state))};
        }
        DET_TRY(journal::write_desired(experiment.layout.desired(), Desired::pause));
        auto told = tell_jobs(plan_pause(view), session.slurm);
        if (!told) {
            return std::move(told).error().noting(
                fmt::format("experiment {} is marked to be paused; say it again later", id));
        }
        if (session.wants_json()) {
            session.answer(Json{{"id", id}, {"desired", "pause"}});
        } else {
            session.say(fmt::format("Paused experiment {}", id));
        }
        return Ok{};
    }

    std::string id_;
};

}  // namespace

std::unique_ptr<Command> make_experiment_pause() { return std::make_unique<ExperimentPause>(); }

}  // namespace det::cli
