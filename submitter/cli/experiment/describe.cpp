#include <det/experiment/open_experiment.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "experiment/describe_search.hpp"
#include "experiment/experiment_summary.hpp"
#include "output/load_interruptions.hpp"
#include "output/metric_reports.hpp"
#include "output/output_style.hpp"
#include "output/table.hpp"
#include "output/trial_text.hpp"

namespace det::cli {
namespace {

using Interruptions = std::vector<std::vector<tracker::history::Interruption>>;  // one list for each trial

using ShownReports = std::vector<std::vector<ShownReport>>;  // one list for each trial; empty: not shown

/// What is shown of an experiment.
struct Description {
    experiment::OpenExperiment experiment;
    SummaryFacts facts;  // for text only
    Interruptions interruptions;
    ShownReports reports;
};

class ExperimentDescribe final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &ids_, "the experiment; several with commas between them", Need::required},
                {"--trials", &trials_, "its trials and their runs too"},
                {"--search", &search_, "the rungs of its search instead"},
                {"--metrics", &metrics_, "its trials and their metrics too"},
                {"--csv", &csv_, "its runs as comma-separated values; with --metrics its metrics"},
                {"--outdir", &output_, "write them into this directory, as trials.csv and metrics.csv"}};
    }

    Outcome run(Session& session) override {
        if (output_) csv_ = true;
        if (csv_ && (session.wants_json() || search_))
            return Error{codes::usage, "--csv and --outdir exclude --json and --search"};
        auto const ids = split(ids_, ',');
        if (search_) return describe_searches(ids, session);
        std::vector<Description> descriptions;
        for (auto const id : ids) {
            DET_TRY_ASSIGN(auto description, load(std::string(id), session));
            descriptions.push_back(std::move(description));
        }
        if (csv_) {
            if (output_) return write_tables(*output_, descriptions, session);
            session.out
                << (metrics_ ? table_of_metrics(descriptions) : table_of_runs(descriptions)).render_csv();
            return ExitCode::done;
        }
        auto json = Json::array();
        std::string text;
        for (auto const& each : descriptions) {
            if (session.wants_json())
                json.push_back(as_json(each));
            else
                text += (text.empty() ? "" : "\n") + as_text(each, session);
        }
        answer_one_or_all(std::move(json), text, session);
        return ExitCode::done;
    }

private:
    bool shows_trials() const { return trials_ || metrics_; }

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
            DET_TRY_ASSIGN(auto const description, describe_search(experiment, answer_style_of(session)));
            json.push_back(description.json);
            text += description.text;
        }
        answer_one_or_all(std::move(json), text, session);
        return ExitCode::done;
    }

    Result<Description> load(std::string const& id, Session& session) const {
        DET_TRY_ASSIGN(auto experiment,
                       experiment::open_experiment(id, experiment::SlurmAnswer::optional, session));
        Description description{std::move(experiment), {}, {}, {}};
        auto const& opened = description.experiment;
        if (!session.wants_json() && !csv_) {
            DET_TRY_ASSIGN(description.facts, load_summary_facts(opened, session));
            if (!shows_trials()) return description;
        }
        for (auto const& trial : opened.view.trials) {
            DET_TRY_ASSIGN(auto of_trial, load_interruptions(*opened.history, trial));
            description.interruptions.push_back(std::move(of_trial));
            if (!metrics_) continue;
            DET_TRY_ASSIGN(auto reports, load_shown_reports(*opened.history, trial.record.id));
            description.reports.push_back(std::move(reports));
        }
        return description;
    }

    static Table table_of_runs(std::vector<Description> const& descriptions) {
        std::vector<tracker::history::TrialView> trials;
        for (auto const& each : descriptions) {
            auto const& view = each.experiment.view;
            trials.insert(trials.end(), view.trials.begin(), view.trials.end());
        }
        return all_runs_table(trials);
    }

    static Table table_of_metrics(std::vector<Description> const& descriptions) {
        std::vector<ShownReport> reports;
        for (auto const& each : descriptions) {
            for (auto const& of_trial : each.reports)
                reports.insert(reports.end(), of_trial.begin(), of_trial.end());
        }
        return values_table(reports, {});
    }

    Outcome write_tables(std::filesystem::path const& directory, std::vector<Description> const& descriptions,
                         Session& session) const {
        constexpr int mode = 0644;
        DET_TRY(make_directories(directory));
        auto const write = [&](char const* name, Table const& table) -> Status {
            DET_TRY(write_file(directory / name, table.render_csv(), mode));
            session.say(fmt::format("wrote {}", (directory / name).string()));
            return Ok{};
        };
        DET_TRY(write("trials.csv", table_of_runs(descriptions)));
        if (metrics_) DET_TRY(write("metrics.csv", table_of_metrics(descriptions)));
        return ExitCode::done;
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

    static SummaryContext context_of(Session const& session) {
        auto const style = answer_style_of(session);
        SummaryContext context{Table::any_width, "", session.foreign_root.has_value(), style.time,
                               style.number};
        context.columns = style.columns;
        if (session.has_named_root)
            context.root_option =
                " --root " + quote_for_shell(session.environment.find("DET_ROOT").value_or(""));
        return context;
    }

    std::string as_text(Description const& description, Session const& session) const {
        auto const& opened = description.experiment;
        auto text = summary_text(opened.view, description.facts, context_of(session));
        if (!shows_trials()) return text;
        auto const style = answer_style_of(session);
        for (std::size_t i = 0; i < opened.view.trials.size(); ++i) {
            auto const& trial = opened.view.trials[i];
            text += '\n' + trial_headline(trial) + runs_table(trial, style) +
                    interruptions_table(description.interruptions[i], style);
            if (!description.reports.empty() && !description.reports[i].empty())
                text += '\n' + reports_table(description.reports[i], {}, style).render(style);
        }
        return text;
    }

    std::string ids_;
    std::optional<std::string> output_;
    bool trials_ = false, search_ = false, metrics_ = false, csv_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_describe() { return std::make_unique<ExperimentDescribe>(); }

}  // namespace det::cli
