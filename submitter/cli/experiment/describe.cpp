#include <det/experiment/config_changes.hpp>
#include <det/experiment/open_experiment.hpp>
#include <det/foundation/count_text.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/attributes.hpp>

#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "experiment/describe_search.hpp"
#include "output/load_interruptions.hpp"
#include "output/metric_reports.hpp"
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

using ShownReports = std::vector<std::vector<ShownReport>>;  // one list for each trial; empty: not shown

/// What is shown of an experiment.
struct Description {
    experiment::OpenExperiment experiment;
    Interruptions interruptions;
    ShownReports reports;
};

class ExperimentDescribe final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &ids_, "the experiment; several with commas between them", Need::required},
                {"--search", &search_, "the rungs of its search instead of its runs"},
                {"--metrics", &metrics_, "the metrics of its trials too"},
                {"--csv", &csv_, "its runs as comma-separated values; with --metrics its metrics"}};
    }

    Outcome run(Session& session) override {
        if (csv_ && (session.wants_json() || search_))
            return Error{codes::usage, "--csv excludes --json and --search"};
        auto const ids = split(ids_, ',');
        if (search_) return describe_searches(ids, session);
        std::vector<Description> descriptions;
        for (auto const id : ids) {
            DET_TRY_ASSIGN(auto description, load(std::string(id), session));
            descriptions.push_back(std::move(description));
        }
        if (csv_) {
            session.out << as_csv(descriptions);
            return ExitCode::done;
        }
        auto json = Json::array();
        std::string text;
        for (auto const& each : descriptions) {
            json.push_back(as_json(each));
            text += (text.empty() ? "" : "\n") + as_text(each);
        }
        answer_one_or_all(std::move(json), text, session);
        return ExitCode::done;
    }

private:
    /// Prints an object for one experiment, an array for several.
    static void answer_one_or_all(Json json, std::string const& text, Session& session) {
        session.answer(json.size() == 1 ? json[0] : json, text);
    }

    static Outcome describe_searches(std::vector<std::string_view> const& ids, Session& session) {
        auto json = Json::array();
        std::string text;
        for (auto const id : ids) {
            DET_TRY_ASSIGN(
                auto const experiment,
                experiment::open_experiment(std::string(id), experiment::SlurmAnswer::optional, session));
            DET_TRY_ASSIGN(auto const description, describe_search(experiment));
            json.push_back(description.json);
            text += description.text;
        }
        answer_one_or_all(std::move(json), text, session);
        return ExitCode::done;
    }

    Result<Description> load(std::string const& id, Session& session) const {
        DET_TRY_ASSIGN(auto experiment,
                       experiment::open_experiment(id, experiment::SlurmAnswer::optional, session));
        Description description{std::move(experiment), {}, {}};
        auto const& opened = description.experiment;
        for (auto const& trial : opened.view.trials) {
            DET_TRY_ASSIGN(auto of_trial, load_interruptions(*opened.history, trial));
            description.interruptions.push_back(std::move(of_trial));
            if (!metrics_) continue;
            DET_TRY_ASSIGN(auto reports, load_shown_reports(*opened.history, trial.record.id));
            description.reports.push_back(std::move(reports));
        }
        return description;
    }

    std::string as_csv(std::vector<Description> const& descriptions) const {
        std::vector<tracker::history::TrialView> trials;
        std::vector<ShownReport> reports;
        for (auto const& each : descriptions) {
            auto const& view = each.experiment.view;
            trials.insert(trials.end(), view.trials.begin(), view.trials.end());
            for (auto const& of_trial : each.reports)
                reports.insert(reports.end(), of_trial.begin(), of_trial.end());
        }
        return (metrics_ ? values_table(reports, {}) : all_runs_table(trials)).render_csv();
    }

    static Json as_json(Description const& description) {
        auto const& view = description.experiment.view;
        auto answer = to_json(view);
        if (view.record.spec) answer["config"] = view.record.spec->config;
        for (std::size_t i = 0; i < description.interruptions.size(); ++i) {
            auto& of_trial = answer["trials"][i]["interruptions"] = Json::array();
            for (auto const& interruption : description.interruptions[i])
                of_trial.push_back(to_json(interruption));
        }
        for (std::size_t i = 0; i < description.reports.size(); ++i)
            answer["trials"][i]["metrics"] = reports_json(description.reports[i]);
        return answer;
    }

    static std::string as_text(Description const& description) {
        auto const& view = description.experiment.view;
        auto text = fmt::format("Experiment {}: {}\n", view.record.id.value, describe_state(view));
        if (view.record.spec) {
            text += describe_attributes(tracker::history::attributes_of(view.record));
            text += describe_spec(*view.record.spec);
            text += describe_continuations(view.record.events);
        }
        for (std::size_t i = 0; i < view.trials.size(); ++i) {
            auto const& trial = view.trials[i];
            text += '\n' + trial_headline(trial) + runs_table(trial) +
                    interruptions_table(description.interruptions[i]);
            if (!description.reports.empty() && !description.reports[i].empty())
                text += '\n' + reports_table(description.reports[i], {}).render();
        }
        return text;
    }

    std::string ids_;
    bool search_ = false, metrics_ = false, csv_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_describe() { return std::make_unique<ExperimentDescribe>(); }

}  // namespace det::cli
