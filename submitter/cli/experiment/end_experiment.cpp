#include "experiment/end_experiment.hpp"

#include <det/foundation/files.hpp>
#include <det/journal/event_log.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

namespace det::cli {

Status record_desired_end(std::filesystem::path const& path, Desired wanted) {
    DET_TRY_ASSIGN(auto const now, journal::load_desired(path));
    if (stricter(now, wanted) == now) return Ok{};
    return journal::write_desired(path, wanted);
}

std::vector<Option> EndExperiment::options() { return {{"id", &id_, "the experiment", Need::required}}; }

Outcome EndExperiment::run(Session& session) {
    DET_TRY(end(session));
    return ExitCode::done;
}

Status EndExperiment::end(Session& session) const {
    DET_TRY_ASSIGN(auto const experiment, open_experiment_with_jobs(id_, session));
    auto const& view = experiment.view;
    if (lifecycle::is_terminal(view.state)) {
        return Error{codes::wrong_state, fmt::format("experiment {} has ended: it is {}",
                                                     experiment.id().value, to_string(view.state))};
    }
    DET_TRY(record_desired_end(experiment.layout.desired(), desired_));
    auto const steps = plan_end(view, desired_);
    auto done = tell_jobs(steps, session.slurm);
    if (!done) {
        return std::move(done).error().noting(
            fmt::format("experiment {} is marked for its end; say it again later", experiment.id().value));
    }
    answer(experiment, steps, session);
    return Ok{};
}

void EndExperiment::answer(OpenExperiment const& experiment, std::vector<JobStep> const& steps,
                           Session& session) const {
    if (session.wants_json()) {
        auto jobs = Json::array();
        for (auto const& step : steps) jobs.push_back(slurm::to_string(step.job));
        session.answer(Json{{"id", experiment.id().value}, {"desired", to_string(desired_)}, {"jobs", jobs}});
        return;
    }
    session.say(fmt::format("{} experiment {}", desired_ == Desired::kill ? "Killed" : "Canceled",
                            experiment.id().value));
}

}  // namespace det::cli
