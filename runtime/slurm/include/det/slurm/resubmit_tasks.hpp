#pragma once
#include <det/foundation/clock.hpp>
#include <det/protocol/array_job.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/slurm/client.hpp>

#include <optional>
#include <string>

namespace det::slurm {

/// Tasks of an experiment's job array that a new job is to run in place of their job, which is gone, can't be
/// requeued, or has lost a node.
struct ArrayTasks {
    ArrayJob array;                   // the array they belong to; array.tasks selects them, empty selects all
    std::string excluded_nodes = {};  // replaces the list given at creation; empty: the list stays
};

/// The author and the time of the event, and the environment of the new job.
struct SubmitContext {
    std::string author;       // user@host, for the event log
    Environment environment;  // of the new job, see Submission::environment
    Clock& clock;
};

/// The --comment of the experiment's jobs, which identifies them; nullopt if the options have none. Pure.
std::optional<std::string> comment_of_jobs(ExperimentSpec const& spec);

/// The option "--array=1,3%2" if only some tasks of the array are to run; empty for a whole array, because
/// the script contains its option.
std::string array_option(ArrayJob const& array);

/// Submits the experiment's script for these tasks alone, held, with the options that the experiment was
/// created with, and appends a `resubmitted` event: readers of the journals attribute the tasks to the new
/// job from then on. The caller releases the job. If sbatch gets no answer, looks for the held job that Slurm
/// may have created.
/// \return the new array; codes::wrong_state if the specification has no sbatch options; errors of sbatch and
/// of the event log otherwise.
Result<ArrayJob> resubmit_tasks(ExperimentLayout const& experiment, ExperimentSpec const& spec,
                                ArrayTasks const& tasks, SubmitContext const& context, SlurmClient& slurm);

}  // namespace det::slurm
