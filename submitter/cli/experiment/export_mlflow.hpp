#pragma once
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "experiment/exported_trial.hpp"

namespace det::cli {

/// The names under which MLflow stores metrics or parameters. Each name is also a path below a directory, and
/// MLflow takes letters, digits and "_-. " only, besides the slash. Other characters become "_"; two names
/// that become the same one differ by a number. A name is the same for all trials.
class MlflowNames {
public:
    /// \param parts of the name, which slashes join. Slashes within a part are replaced.
    std::string add(std::vector<std::string> const& parts);
    /// The names that MLflow would not take, with those that they have instead.
    std::map<std::string, std::string> const& renamed() const { return renamed_; }

private:
    std::map<std::vector<std::string>, std::string> known_;
    std::set<std::string> used_;
    std::map<std::string, std::string> renamed_;
};

struct MlflowFile {
    std::filesystem::path path;  // below the directory of the experiment
    std::string content;
};

/// What all runs of an experiment have in common.
struct MlflowExperiment {
    ExperimentId id;
    std::string name;
    std::string user;
    UtcTime created;
    std::filesystem::path directory;  // absolute, where the export will lie
    MlflowNames metrics = {}, parameters = {};
};

/// meta.yaml of the experiment. Pure.
MlflowFile render_mlflow_experiment(MlflowExperiment const& experiment);
/// The files of a trial's run. Adds its names to the experiment's.
std::vector<MlflowFile> render_mlflow_run(ExportedTrial const& trial, MlflowExperiment& experiment);

}  // namespace det::cli
