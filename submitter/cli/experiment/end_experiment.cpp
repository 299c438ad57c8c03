#include "experiment/end_experiment.hpp"

#include <det/experiment/control_experiment.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "experiment/accept_damage_option.hpp"

namespace det::cli {

std::vector<Option> EndExperiment::options() {
    return {{"id", &id_, "the experiment", Need::required}, accept_damage_option(&accepts_damage_)};
}

Outcome EndExperiment::run(Session& session) {
    if (accepts_damage_) DET_TRY(experiment::accept_journal_damage(id_, session));
    DET_TRY_ASSIGN(auto const ended, experiment::end_experiment(id_, desired_, session));
    if (session.wants_json()) {
        auto jobs = Json::array();
        for (auto const& update : ended.updates) jobs.push_back(slurm::to_string(update.job));
        session.answer(Json{{"id", ended.id.value}, {"desired", to_string(desired_)}, {"jobs", jobs}});
    } else {
        auto const* const done = desired_ == DesiredState::kill ? "Killed" : "Canceled";
        session.say(fmt::format("{} experiment {}", done, ended.id.value));
    }
    return ExitCode::done;
}

}  // namespace det::cli
