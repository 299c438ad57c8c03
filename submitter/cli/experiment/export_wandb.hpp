#pragma once
#include <set>
#include <string>

#include "experiment/exported_trial.hpp"

namespace det::cli {

/// What all runs of an experiment have in common.
struct WandbExperiment {
    ExperimentId id;
    std::string name;
    std::string description;
    std::set<std::string> labels;
};

/// A line of JSON that names a trial's run, and a line for each step with the numbers of that step, in
/// ascending order, as wandb wants them. Of several numbers of a metric at a step, the last one. Pure.
std::string render_wandb_lines(ExportedTrial const& trial, WandbExperiment const& experiment);

}  // namespace det::cli
