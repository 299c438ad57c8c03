#include "experiment/exported_trial.hpp"

#include <det/experiment/root_directory.hpp>
#include <det/foundation/sha256.hpp>
#include <det/protocol/json_number.hpp>

#include <fmt/format.h>

#include "output/trial_text.hpp"

namespace det::cli {
namespace {

std::optional<double> exported_number(Json const& value) {
    if (value.is_boolean()) return value.get<bool>() ? 1.0 : 0.0;
    return number_from_json(value);
}

void add_parameters(Json const& value, std::string const& path, std::map<std::string, Json>& parameters) {
    if (!value.is_object()) {
        parameters[path] = value;
        return;
    }
    for (auto const& [name, inner] : value.items())
        add_parameters(inner, path.empty() ? name : path + '.' + name, parameters);
}

}  // namespace

std::map<ExportedMetric, std::vector<ExportedValue>> collect_numbers(
    std::vector<tracker::history::RunReports> const& runs) {
    std::map<ExportedMetric, std::vector<ExportedValue>> metrics;
    for (auto const& run : runs) {
        for (auto const& report : run.metrics) {
            if (run.is_superseded(report)) continue;
            for (auto const& [name, value] : report.metrics->items()) {
                if (auto const number = exported_number(value))
                    metrics[{report.group, name, report.rank}].push_back(
                        {report.steps_completed, report.time, *number});
            }
        }
    }
    return metrics;
}

std::string render_run_id(std::string const& root, TrialId trial) {
    Sha256 hash;
    hash.update(fmt::format("{}/{}", root, to_string(trial)));
    return hash.finish().substr(0, 32);
}

Result<ExportedTrial> load_exported_trial(experiment::OpenExperiment const& experiment,
                                          tracker::history::TrialView const& trial) {
    auto const id = trial.record.id;
    auto const& spec = *experiment.view.record.spec;
    DET_TRY_ASSIGN(auto const runs, experiment.history->load_reports(id));
    ExportedTrial exported{id,
                           render_run_id(experiment::root_id(experiment.root), id),
                           trial.state,
                           trial.started().value_or(spec.created),
                           trial.ended(),
                           {},
                           collect_numbers(runs)};
    auto const hyperparameters = hyperparameters_of(experiment.layout, spec, id.index);
    for (auto const& [name, value] : hyperparameters.items())
        add_parameters(value, name, exported.hyperparameters);
    return exported;
}

}  // namespace det::cli
