#pragma once
#include <det/experiment/context.hpp>
#include <det/experiment/submission_request.hpp>
#include <det/experiment/submit_arrays.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace det::experiment {

struct CreatedExperiment {
    ExperimentId id;
    std::vector<std::uint32_t> jobs;  // one job number for each array
    std::filesystem::path path;
    ExpectedStart expected_start = {};
};

/// Creates an experiment in four steps:
/// 1. make a directory by mkdir and fill it;
/// 2. submit the jobs, held;
/// 3. append the `created` event with the jobs' numbers;
/// 4. release the jobs, unless the request asks for a paused experiment.
/// If step 1 or 2 fails, cancels the submitted jobs and removes the experiment's directory. If sbatch does
/// not answer in step 2 (codes::submission_unclear), keeps the directory, because Slurm may have the jobs. A
/// crash after step 2 leaves held jobs, and before the event is written the experiment is listed as
/// SUBMITTING; `experiment activate` completes the creation. The archive of the code always stays: another
/// experiment may refer to it, and the next attempt uses it.
Result<CreatedExperiment, Diagnostics> create_experiment(SubmissionRequest const& request, Context& context);

/// Makes the checks of create_experiment() and writes nothing: lists the code, asks Slurm whether it would
/// accept the jobs, and checks who can write the directory of the checkpoints.
Result<AcceptedArrays, Diagnostics> check_creation(SubmissionRequest const& request, Context& context);

/// Creates an experiment whose job runs already: this process is in it. The job gets the comment of the
/// experiment's jobs, and may be queued again by Slurm, whatever it was submitted with.
Result<CreatedExperiment> create_for_running_job(SubmissionRequest const& request, ArrayJob const& array,
                                                 Context& context);

/// Checks the code as create_experiment() does, but code that a group can write is always a warning. Packs
/// the code into `contexts`. Returns nothing without code.
Result<std::optional<ContextSpec>, Diagnostics> pack_code(pack::ContextSources const& sources,
                                                          std::filesystem::path const& contexts,
                                                          Context& context);

}  // namespace det::experiment
