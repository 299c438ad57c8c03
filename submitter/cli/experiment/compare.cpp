#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_number.hpp>
#include <det/protocol/json_or_null.hpp>
#include <det/tracker/history/attributes.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <ostream>
#include <set>

#include "command.hpp"
#include "experiment/config_differences.hpp"
#include "experiment/ranked_trials.hpp"
#include "output/table.hpp"
#include "output/trial_text.hpp"
#include "output/value_text.hpp"

namespace det::cli {
namespace {

using tracker::history::ExperimentView;

/// An experiment as a column of the comparison. Its trial is the best one, or the first one if no
/// trial has a validation.
struct ComparedExperiment {
    ExperimentId id;
    Json json;                                           // as the answer shows it
    std::map<std::string, std::string> metrics;          // of the trial at its best validation
    std::map<std::string, std::string> hyperparameters;  // of the trial, by path
    Json config;                                         // effective, with masked secrets
    std::map<std::string, std::string> config_differences;
    std::vector<std::pair<std::string, std::string>> facts;
};

void flatten(Json const& value, std::string const& path, std::map<std::string, std::string>& values) {
    if (!value.is_object()) {
        values[path] = to_line(value);
        return;
    }
    for (auto const& [name, inner] : value.items())
        flatten(inner, path.empty() ? name : path + '.' + name, values);
}

std::map<std::string, int> causes_of(ExperimentView const& view) {
    std::map<std::string, int> causes;
    for (auto const& trial : view.trials) {
        for (auto const& [cause, count] : ends_by_cause(trial)) causes[cause] += count;
    }
    return causes;
}

std::string causes_text(std::map<std::string, int> const& causes) {
    std::string text;
    for (auto const& [cause, count] : causes)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, cause);
    return text;
}

/// Time from the start of the first run to the end of the last one; of a running experiment, until now.
std::optional<double> duration_s_of(ExperimentView const& view, UtcTime now) {
    auto const started = view.started();
    if (!started) return std::nullopt;
    auto const until = view.ended().value_or(now);
    return static_cast<double>(until.microseconds - started->microseconds) / 1e6;
}

/// The numbers that the trial last reported at that step in the group `validation`.
Result<Json> load_validation(tracker::history::History& history, TrialId trial, std::uint64_t step) {
    DET_TRY_ASSIGN(auto const runs, history.load_reports(trial));
    auto metrics = Json::object();
    for (auto const& run : runs) {
        journal::LowestRanks const lowest(run.metrics);
        for (auto const& report : run.metrics) {
            if (report.group != "validation" || report.steps_completed != step || run.is_superseded(report))
                continue;
            for (auto const& [name, value] : report.metrics->items()) {
                if (number_from_json(value) && lowest.counts(report, name)) metrics[name] = value;
            }
        }
    }
    return metrics;
}

Result<ComparedExperiment> load_column(experiment::OpenExperiment const& experiment, UtcTime now,
                                       NumberText const& number_text) {
    auto const& view = experiment.view;
    if (!view.record.spec) {
        return Error{codes::wrong_state,
                     fmt::format("experiment {} can't be compared: its creation was interrupted",
                                 view.record.id.value)};
    }
    auto const& spec = *view.record.spec;
    auto& history = *experiment.history;
    DET_TRY_ASSIGN(auto const ranked, rank_trials(view, history));
    auto const trial = ranked.empty() ? TrialId{view.record.id, 0} : ranked.front().view->record.id;
    auto metrics = Json::object();
    if (!ranked.empty()) {
        DET_TRY_ASSIGN(metrics, load_validation(history, trial, ranked.front().validation.steps_completed));
    }
    auto const hyperparameters = hyperparameters_of(experiment.layout, spec, trial.index);
    auto const causes = causes_of(view);
    auto const duration_s = duration_s_of(view, now);
    auto const slots = spec.shape.nodes * spec.shape.slots_per_node;
    auto const name = tracker::history::attributes_of(view.record).name;
    ComparedExperiment column{view.record.id, {}, {}, {}, spec.config, {}, {}};
    column.json = {
        {"id", view.record.id.value},
        {"name", name},
        {"state", to_string(view.state)},
        {"trial", to_string(trial)},
        {"steps_completed", ranked.empty() ? Json(nullptr) : Json(ranked.front().validation.steps_completed)},
        {"metrics", metrics},
        {"hyperparameters", hyperparameters},
        {"trials", view.trials.size()},
        {"duration_s", json_or_null(duration_s)},
        {"slots_per_trial", slots},
        {"ends", causes}};
    column.facts = {{"Name", name},
                    {"State", std::string(to_string(view.state))},
                    {"Trials", std::to_string(view.trials.size())},
                    {"Slots per trial", std::to_string(slots)},
                    {"Duration", duration_s ? duration_text(*duration_s) : ""},
                    {"Ends of runs", causes_text(causes)},
                    {"Best trial", ranked.empty() ? "" : to_string(trial)}};
    for (auto const& [metric, value] : metrics.items()) column.metrics[metric] = number_text(value);
    flatten(hyperparameters, "", column.hyperparameters);
    return column;
}

std::string config_value_text(Json const& value) {
    if (value.is_null()) return "";
    return value.is_string() ? value.get<std::string>() : to_line(value);
}

/// Whether the key of a configuration is a hyperparameter that has the value of the trial, which is shown
/// anyway.
bool repeats_hyperparameter(std::string const& key, std::string const& value,
                            std::map<std::string, std::string> const& hyperparameters) {
    constexpr std::string_view section = "hyperparameters.", constant = ".val";
    if (!key.starts_with(section)) return false;
    auto name = key.substr(section.size());
    if (!hyperparameters.contains(name) && name.ends_with(constant))
        name.resize(name.size() - constant.size());
    auto const found = hyperparameters.find(name);
    return found == hyperparameters.end() ? value.empty() : found->second == value;
}

/// Sets the differences of the configurations in the JSON and for the table of each column.
void add_config_differences(std::vector<ComparedExperiment>& columns) {
    std::vector<Json> configs;
    for (auto const& column : columns) configs.push_back(column.config);
    auto const differences = find_config_differences(configs);
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].json["config_differences"] = differences[i];
    for (auto const& [key, unused] : differences.front()) {
        bool is_repeated = true;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            auto const& value = differences[i].at(key);
            is_repeated = is_repeated && repeats_hyperparameter(key, value.is_null() ? "" : to_line(value),
                                                                columns[i].hyperparameters);
        }
        if (is_repeated) continue;
        for (std::size_t i = 0; i < columns.size(); ++i)
            columns[i].config_differences[key] = config_value_text(differences[i].at(key));
    }
}

using Values = std::map<std::string, std::string> ComparedExperiment::*;

/// The rows of a section: a name with its value in each column. With only_different, only names whose values
/// differ.
void add_rows(Table& table, std::vector<ComparedExperiment> const& columns, Values values,
              std::string const& section, bool only_different) {
    std::set<std::string> names;
    for (auto const& column : columns) {
        for (auto const& [name, value] : column.*values) names.insert(name);
    }
    for (auto const& name : names) {
        std::vector<std::string> row{section + ' ' + name};
        for (auto const& column : columns) {
            auto const found = (column.*values).find(name);
            row.push_back(found == (column.*values).end() ? "" : found->second);
        }
        bool const is_different =
            std::adjacent_find(row.begin() + 1, row.end(), std::not_equal_to<>()) != row.end();
        if (is_different || !only_different) table.add(std::move(row));
    }
}

class ExperimentCompare final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &ids_, "the experiments", Need::required},
                {"--csv", &csv_, "print comma-separated values"}};
    }

    Outcome run(Session& session) override {
        std::vector<ComparedExperiment> columns;
        for (auto const& id : ids_) {
            DET_TRY_ASSIGN(auto const experiment,
                           experiment::open_experiment(id, experiment::SlurmAnswer::optional, session));
            DET_TRY_ASSIGN(auto column, load_column(experiment, session.clock.now(),
                                                    answer_style_of(session, csv_).number));
            columns.push_back(std::move(column));
        }
        add_config_differences(columns);
        if (session.wants_json()) {
            auto answer = Json::array();
            for (auto const& column : columns) answer.push_back(column.json);
            session.answer(answer);
        } else {
            auto const table = as_table(columns);
            if (csv_)
                session.out << table.render_csv();
            else
                print_table(session, table);
        }
        return ExitCode::done;
    }

private:
    static Table as_table(std::vector<ComparedExperiment> const& columns) {
        std::vector<std::string> header{"Experiment"};
        for (auto const& column : columns) header.push_back(to_string(column.id));
        Table table(std::move(header));
        for (std::size_t i = 0; i < columns.front().facts.size(); ++i) {
            std::vector<std::string> row{columns.front().facts[i].first};
            for (auto const& column : columns) row.push_back(column.facts[i].second);
            table.add(std::move(row));
        }
        add_rows(table, columns, &ComparedExperiment::metrics, "validation", false);
        add_rows(table, columns, &ComparedExperiment::hyperparameters, "hparam", true);
        add_rows(table, columns, &ComparedExperiment::config_differences, "config", false);
        return table;
    }

    std::vector<std::string> ids_;
    bool csv_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_compare() { return std::make_unique<ExperimentCompare>(); }

}  // namespace det::cli
