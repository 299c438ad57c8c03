#include "experiment/export_formats.hpp"

#include <det/tracker/history/export.hpp>

namespace det::cli {
namespace {

Status write_tensorboard_export(experiment::OpenExperiment const& experiment, ExportPlace const& place,
                                Session&) {
    std::vector<TrialId> trials;
    for (auto const& trial : experiment.view.trials) trials.push_back(trial.record.id);
    return tracker::export_event_files(*experiment.history, trials, {}, place.incomplete);
}

constexpr ExportFormat formats_of_exports[] = {
    {"tensorboard", "the directory for event files, which TensorBoard reads", &write_tensorboard_export},
    {"mlflow", "the directory for a store of MLflow in files", &write_mlflow_export},
    {"wandb", "the directory for a script that logs the trials by wandb", &write_wandb_export},
};

}  // namespace

std::span<ExportFormat const> export_formats() { return formats_of_exports; }

}  // namespace det::cli
