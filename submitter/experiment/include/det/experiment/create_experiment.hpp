#pragma once
#include <det/experiment/context.hpp>
#include <det/experiment/prepare_submission.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace det::experiment {

struct CreatedExperiment {
    ExperimentId id;
    std::vector<std::uint32_t> jobs;  // its arrays
    std::filesystem::path path;
    std::string start_estimate = {};  // local time, as Slurm wrote it; empty: Slurm gave none
};

/// The creation protocol:
/// 1. make a directory by mkdir and fill it;
/// 2. submit the jobs, held;
/// 3. append the `created` event with the jobs' numbers;
/// 4. release the jobs.
/// A failure before Slurm has a job leaves no experiment. A crash after that leaves held jobs and an
/// experiment that is listed as SUBMITTING. The archive of the code stays in any case: another experiment may
/// refer to it, and the next attempt uses it.
Result<CreatedExperiment, Diagnostics> create_experiment(SubmissionRequest const& request, Context& context);

}  // namespace det::experiment
