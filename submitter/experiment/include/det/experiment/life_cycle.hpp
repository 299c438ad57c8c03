#pragma once
#include <det/experiment/open_experiment.hpp>
#include <det/experiment/update_jobs.hpp>

#include <string>
#include <vector>

namespace det::experiment {

// Each of these writes the `desired` file first and tells Slurm second, so that a supervisor that ends knows
// why. `id` is what the user typed.

/// Running trials save their work and wait, held, in the queue.
Result<ExperimentId> pause_experiment(std::string const& id, Context& context);

struct ActivatedExperiment {
    ExperimentId id;
    std::vector<ArrayJob> resubmitted;  // arrays of trials that were interrupted
};
/// Releases held jobs, submits interrupted trials again, and completes an interrupted creation.
Result<ActivatedExperiment> activate_experiment(std::string const& id, Context& context);

struct EndedExperiment {
    ExperimentId id;
    std::vector<JobUpdate> updates;  // what Slurm was told
};
/// Desired::cancel: running trials may save their work. Desired::kill: they may not.
Result<EndedExperiment> end_experiment(std::string const& id, Desired desired, Context& context);

Result<TrialId> kill_trial(std::string const& id, Context& context);

/// codes::wrong_state if it has not ended or Slurm still has jobs of it.
Status check_deletable(OpenExperiment const& experiment);
/// Removes its files and its checkpoints, except the checkpoints that other experiments start from: returns
/// their UUIDs.
Result<std::vector<std::string>> delete_experiment(OpenExperiment const& experiment, Context& context);

/// Limits the slots that its trials have at once.
Result<ExperimentId> limit_slots(std::string const& id, std::uint32_t slots, Context& context);

}  // namespace det::experiment
