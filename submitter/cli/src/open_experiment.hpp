#pragma once
#include <det/protocol/layout.hpp>
#include <det/tracker/history/view.hpp>

#include <string>

#include "session.hpp"

namespace det::cli {

/// An experiment as a command finds it that is about to change it.
struct OpenExperiment {
    RootLayout root;
    ExperimentLayout layout;
    tracker::history::ExperimentView view;

    ExperimentId id() const { return view.record.id; }
};

/// Where Slurm does not answer that is a warning, and the journals speak alone.
Result<OpenExperiment> open_experiment(std::string const& id, Session& session);
/// Slurm has to answer. Of an experiment whose creation was cut off its jobs are found by their comments.
Result<OpenExperiment> open_experiment_with_jobs(std::string const& id, Session& session);

/// Writes down what was changed, who did it and when.
Status record_event(OpenExperiment const& experiment, std::string_view kind, Json body, Session& session);

}  // namespace det::cli
