#pragma once
#include <det/experiment/context.hpp>
#include <det/experiment/submission_request.hpp>
#include <det/protocol/array_job.hpp>

namespace det::experiment {

/// When Slurm expects a job to start.
struct ExpectedStart {
    std::string time;             // local time in Slurm's format; empty: unknown
    std::string unknown_because;  // why Slurm can't tell; empty: it can, or it gives no estimate
};

/// Returns the batch script of an array as it would be submitted. The experiment's id is not known yet.
Result<std::string> render_script_of(SubmissionRequest const& request, ArrayJob const& array);

/// The options of sbatch's command line with which that script would be submitted, without --hold.
std::vector<std::string> first_sbatch_options(SubmissionRequest const& request);

/// Plans the job arrays of a request. Pure.
/// \param tasks_max of one array; empty: as many tasks as the trials need
std::vector<ArrayJob> plan_arrays(SubmissionRequest const& request, std::optional<std::uint32_t> tasks_max);

/// The job arrays of a request as Slurm would accept them. They are not submitted yet: their job numbers are
/// 0.
struct AcceptedArrays {
    std::vector<ArrayJob> arrays;
    ExpectedStart expected_start = {};
};

/// Plans the arrays, and asks Slurm whether it would accept the first one. The expected start is unknown
/// without a reason if Slurm was not asked because the job must wait for nodes that are drained or down. If
/// Slurm refuses that many jobs, plans fewer tasks until Slurm accepts them.
///
/// \param more_options added to sbatch's command line, after all others
Result<AcceptedArrays> plan_accepted_arrays(SubmissionRequest const& request, Context& context,
                                            std::vector<std::string> const& more_options = {});

/// An experiment, or a revision of it, before its files are written.
struct RenderedExperiment {
    struct Script {
        ArrayJob array;
        std::filesystem::path path;
        std::string text;
    };

    ExperimentLayout layout;
    ExperimentSpec spec;
    std::vector<Script> scripts;
};

/// Renders the batch scripts of the arrays. Pure.
Result<RenderedExperiment> render_experiment(SubmissionRequest const& request, ExperimentLayout const& layout,
                                             ExperimentSpec spec, std::vector<ArrayJob> const& arrays);

/// Submits the arrays, held; their scripts have been written. If a submission fails, cancels the arrays that
/// were submitted before it and returns the error; its notes name the arrays that could not be cancelled.
Result<std::vector<ArrayJob>> submit_arrays(SubmissionRequest const& request,
                                            RenderedExperiment const& experiment, Context& context);

/// Returns the job numbers as text: "12, 13".
std::string join_job_ids(std::vector<ArrayJob> const& arrays);

}  // namespace det::experiment
