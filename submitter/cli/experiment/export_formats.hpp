#pragma once
#include <det/experiment/open_experiment.hpp>

#include <filesystem>
#include <span>
#include <string_view>

#include "session.hpp"

namespace det::cli {

/// Where an export is written, and where it will lie when it is complete (an absolute path).
struct ExportPlace {
    std::filesystem::path incomplete, final;
};

/// A format of another program, in which an experiment becomes a directory. Reports that a later run
/// superseded are left out.
struct ExportFormat {
    std::string_view name;  // of the option, without "--"
    std::string_view help;
    Status (*write)(experiment::OpenExperiment const& experiment, ExportPlace const& place, Session& session);
};

std::span<ExportFormat const> export_formats();

Status write_mlflow_export(experiment::OpenExperiment const& experiment, ExportPlace const& place,
                           Session& session);
Status write_wandb_export(experiment::OpenExperiment const& experiment, ExportPlace const& place,
                          Session& session);

}  // namespace det::cli
