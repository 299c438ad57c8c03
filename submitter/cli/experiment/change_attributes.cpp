#include "experiment/change_attributes.hpp"

#include <det/experiment/open_experiment.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

namespace det::cli {

std::vector<Option> ChangeAttribute::options() {
    std::vector<Option> options{{"id", &id_, "the experiment", Need::required}};
    if (!change_.value_name.empty())
        options.push_back({std::string(change_.value_name), &value_, "the new value", Need::required});
    return options;
}

Outcome ChangeAttribute::run(Session& session) {
    DET_TRY(apply(session));
    return ExitCode::done;
}

Status ChangeAttribute::apply(Session& session) const {
    DET_TRY_ASSIGN(auto const experiment,
                   experiment::open_experiment(id_, experiment::SlurmAnswer::optional, session));
    auto const now = tracker::history::attributes_of(experiment.view.record);
    auto possible = change_.check ? change_.check(now, experiment.view.state, value_) : Status(Ok{});
    if (!possible)
        return std::move(possible).error().while_doing("changing experiment " + to_string(experiment.id()));
    auto [kind, body] = change_.make(value_);
    DET_TRY(experiment::record_event(experiment, kind, std::move(body), session));
    session.print_confirmation(Json{{"id", experiment.id().value}},
                               fmt::format("{} experiment {}", change_.done, experiment.id().value));
    return Ok{};
}

}  // namespace det::cli
