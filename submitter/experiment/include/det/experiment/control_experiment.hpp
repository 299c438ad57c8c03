#pragma once
#include <det/experiment/open_experiment.hpp>
#include <det/experiment/update_jobs.hpp>

#include <string>
#include <vector>

namespace det::experiment {

// The functions that pause, activate, end and kill write the `desired` file before they change jobs in Slurm,
// so that the supervisor of an ending job can read the reason. `id` is what the user typed.

/// Accepts the damage of all journals of the experiment, so that commands and later runs go on without the
/// records that are missing. Warns with each damaged journal.
Status accept_journal_damage(std::string const& id, Context& context);

/// Pauses an experiment. Running trials save their work; then their jobs wait in the queue, held.
Result<ExperimentId> pause_experiment(std::string const& id, Context& context);

struct ActivatedExperiment {
    ExperimentId id;
    std::vector<ArrayJob> resubmitted;  // new arrays of interrupted trials
};
/// Releases held jobs, submits interrupted trials again, and completes an interrupted creation.
/// codes::journal_damaged if the experiment is a search and one of its journals is damaged: the search's
/// decisions need all reports.
Result<ActivatedExperiment> activate_experiment(std::string const& id, Context& context);

struct EndedExperiment {
    ExperimentId id;
    std::vector<JobUpdate> updates;  // the changes that were made in Slurm
};
/// Ends an experiment. DesiredState::cancel: running trials may save their work. DesiredState::kill: they end
/// at once.
Result<EndedExperiment> end_experiment(std::string const& id, DesiredState desired, Context& context);

/// Ends one trial at once: cancels its job, or, if other trials share the job, makes its supervisor end the
/// trial. codes::wrong_state if it has ended.
Result<TrialId> kill_trial(std::string const& id, Context& context);

/// Checks that an experiment can be deleted: codes::wrong_state if the experiment has not ended, if its
/// creation was interrupted and Slurm still has jobs of it, or if one of its checkpoints is a version of a
/// model.
Status check_deletable(OpenExperiment const& experiment);
/// Removes an experiment's files and checkpoints and cancels its orphan jobs. Keeps the checkpoints that
/// other experiments start from and returns their UUIDs. Does not check the experiment's state.
///
/// \pre check_deletable() succeeded
Result<std::vector<std::string>> delete_experiment(OpenExperiment const& experiment, Context& context);

/// Cancels the jobs of the experiment that are in Slurm but not in the experiment's record. An interrupted
/// continuation leaves such jobs.
Status cancel_orphan_jobs(OpenExperiment const& experiment, Context& context);

/// Limits the number of slots that the experiment's trials use at the same time. An experiment with several
/// job arrays may use more, because each array runs at least one task.
Result<ExperimentId> limit_slots(std::string const& id, std::uint32_t slots, Context& context);

/// Limits the number of trials that run at the same time. Running trials continue. The limit of slots
/// stays. As with limit_slots(), several job arrays may run more.
Result<ExperimentId> limit_concurrent_trials(std::string const& id, std::uint32_t trials, Context& context);

}  // namespace det::experiment
