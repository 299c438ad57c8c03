#include <det/experiment/config_changes.hpp>
#include <det/experiment/open_experiment.hpp>
#include <det/foundation/count_text.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/attributes.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "experiment/describe_search.hpp"
#include "output/load_interruptions.hpp"
#include "output/table.hpp"
#include "output/trial_text.hpp"

namespace det::cli {
namespace {

/// Describes the state. While running trials save their work for a pause, the state is still RUNNING; the
/// text adds that the experiment then pauses.
std::string describe_state(tracker::history::ExperimentView const& view) {
    bool const is_to_pause = view.record.desired == DesiredState::pause &&
                             view.state != lifecycle::State::paused && !lifecycle::is_terminal(view.state);
    return fmt::format("{}{}", to_string(view.state), is_to_pause ? ", saves its work and then pauses" : "");
}

std::string describe_attributes(tracker::history::Attributes const& now) {
    auto text = fmt::format("Name:          {}\n", escape_control(now.name));
    if (!now.description.empty()) text += fmt::format("Description:   {}\n", escape_control(now.description));
    if (!now.labels.empty())
        text += fmt::format("Labels:        {}\n",
                            escape_control(fmt::format("{}", fmt::join(now.labels, ", "))));
    if (now.max_slots) text += fmt::format("Max slots:     {}\n", *now.max_slots);
    if (now.max_concurrent_trials)
        text += fmt::format("Max trials:    {} at a time\n", *now.max_concurrent_trials);
    if (now.is_archived) text += "Archived:      yes\n";
    if (!now.notes.empty()) text += fmt::format("Notes:         {}\n", escape_control(now.notes));
    return text;
}

std::string describe_spec(ExperimentSpec const& spec) {
    return fmt::format(
        "Owner:         {}\nCreated:       {}\nResource pool: {}, {} of {}\n"
        "Entrypoint:    {} (launch: {})\nSearcher:      {}, {} of {}\n",
        escape_control(spec.owner), short_time(spec.created), escape_control(spec.pool),
        count_text(spec.shape.nodes, "node"), count_text(spec.shape.slots_per_node, "slot"),
        escape_control(join(spec.entrypoint, " ")), to_string(spec.launch), spec.searcher.name,
        spec.searcher.smaller_is_better ? "smallest" : "largest", escape_control(spec.searcher.metric));
}

using Interruptions = std::vector<std::vector<tracker::history::Interruption>>;  // one list for each trial

/// Describes each continuation: a line with its user and time, then its changes.
std::string describe_continuations(std::vector<Event> const& events) {
    std::string text;
    for (auto const& event : events) {
        if (event.kind != event_kinds::continued) continue;
        text += fmt::format("Continued:     {} by {}\n", short_time(event.time), escape_control(event.by));
        for (auto const& change : experiment::changes_in(event))
            text += fmt::format("               {}\n", describe(change));
    }
    return text;
}

class ExperimentDescribe final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"--search", &search_, "the rungs of its search instead of its runs"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const experiment,
                       experiment::open_experiment(id_, experiment::SlurmAnswer::optional, session));
        if (search_) {
            DET_TRY_ASSIGN(auto const description, describe_search(experiment));
            session.answer(description.json, description.text);
            return ExitCode::done;
        }
        DET_TRY(tell(experiment, session));
        return ExitCode::done;
    }

private:
    static Status tell(experiment::OpenExperiment const& experiment, Session& session) {
        auto const& view = experiment.view;
        Interruptions interruptions;
        for (auto const& trial : view.trials) {
            DET_TRY_ASSIGN(auto of_trial, load_interruptions(*experiment.history, trial));
            interruptions.push_back(std::move(of_trial));
        }
        session.answer(as_json(view, interruptions), as_text(view, interruptions));
        return Ok{};
    }

    static Json as_json(tracker::history::ExperimentView const& view, Interruptions const& interruptions) {
        auto answer = to_json(view);
        if (view.record.spec) answer["config"] = view.record.spec->config;
        for (std::size_t i = 0; i < interruptions.size(); ++i) {
            auto& of_trial = answer["trials"][i]["interruptions"] = Json::array();
            for (auto const& interruption : interruptions[i]) of_trial.push_back(to_json(interruption));
        }
        return answer;
    }

    static std::string as_text(tracker::history::ExperimentView const& view,
                               Interruptions const& interruptions) {
        auto text = fmt::format("Experiment {}: {}\n", view.record.id.value, describe_state(view));
        if (view.record.spec) {
            text += describe_attributes(tracker::history::attributes_of(view.record));
            text += describe_spec(*view.record.spec);
            text += describe_continuations(view.record.events);
        }
        for (std::size_t i = 0; i < view.trials.size(); ++i) {
            auto const& trial = view.trials[i];
            text += '\n' + trial_headline(trial) + runs_table(trial) + interruptions_table(interruptions[i]);
        }
        return text;
    }

    std::string id_;
    bool search_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_describe() { return std::make_unique<ExperimentDescribe>(); }

}  // namespace det::cli
