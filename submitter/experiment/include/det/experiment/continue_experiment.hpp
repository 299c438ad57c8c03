#pragma once
#include <det/experiment/config_changes.hpp>
#include <det/experiment/open_experiment.hpp>
#include <det/protocol/array_job.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace det::experiment {

struct ContinueOptions {
    std::string id;                                // as the user typed it
    std::optional<std::filesystem::path> changes;  // a file with changes of the configuration
    std::vector<std::string> overrides;            // "a.b=value"
};

struct ContinuedExperiment {
    OpenExperiment experiment;  // as it was before
    std::uint32_t revision = 0;
    std::vector<ConfigChange> changes;
    std::vector<std::uint32_t> trials;  // those that run again
    std::vector<ArrayJob> arrays;
};

/// Runs trials of an experiment that has ended again, with the same or a changed configuration: the trial of
/// a single search; of a grid or random search those that failed or were cancelled. Repeating the command
/// before a trial has begun only completes what may have been interrupted.
Result<ContinuedExperiment, Diagnostics> continue_experiment(ContinueOptions const& options,
                                                             Context& context);

/// The trials of a continuation that have run and left no checkpoint to resume from. Empty if that is
/// unknown.
std::vector<std::uint32_t> find_trials_without_checkpoint(ContinuedExperiment const& continued,
                                                          Environment const& environment);

/// Cancels jobs that Slurm has of the experiment and that its record does not know: an interrupted
/// continuation left them.
Status cancel_orphan_jobs(OpenExperiment const& experiment, Context& context);

}  // namespace det::experiment
