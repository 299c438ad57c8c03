#pragma once
#include <det/experiment/context.hpp>
#include <det/experiment/submission_request.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace det::experiment {

/// What the batch step of a running job is to execute in place of the user's script.
struct RunningJob {
    std::vector<std::string> command;
    std::filesystem::path experiment;  // empty: the command is the script itself
};

/// Makes an experiment of the batch job in which this process runs, unless the job has one already: it was
/// queued again, or another task of its array was faster. An array is one experiment, and each of its tasks
/// a trial. The job's comment names the experiment from then on, and Slurm may queue the job again.
///
/// \param options sources.file is the script, sources.script_arguments are its arguments. The options of the
/// job are those of its #SBATCH lines, and those that Slurm's variables name
/// \return codes::not_in_slurm outside of a job; codes::bad_value if the tasks of an array are not known
Result<RunningJob, Diagnostics> record_running_job(SubmissionOptions options, Context& context);

}  // namespace det::experiment
