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

/// Returns the job arrays of the request's plan. They are not submitted yet: their job numbers are 0.
std::vector<ArrayJob> plan_arrays(SubmissionRequest const& request);

/// Returns the batch script of the first array as it would be submitted. The experiment's id need not be
/// known yet.
Result<std::string> render_first_script(SubmissionRequest const& request, ExperimentId id = {});

/// Asks Slurm whether it would accept the first array. Returns the expected start; unknown without a reason
/// if Slurm was not asked because the job must wait for nodes that are drained or down. If Slurm refuses that
/// many jobs, lowers the request's tasks_max until Slurm accepts them.
///
/// \param more_options added to sbatch's command line, after all others
Result<ExpectedStart> run_sbatch_test_only(SubmissionRequest& request, Context& context,
                                           std::vector<std::string> const& more_options = {});

/// Returns the request's packed_code. codes::no_such_file if its archive no longer exists.
Result<std::optional<ContextSpec>> require_stored_code(SubmissionRequest const& request);

/// Writes the configuration as the user wrote it, the effective configuration, and the secrets.
Status write_configuration(SubmissionRequest const& request, ExperimentLayout const& layout);

/// Writes the scripts and submits the arrays, held. If a submission fails, cancels the arrays that were
/// submitted before it and returns the error; its notes name the arrays that could not be cancelled.
Result<std::vector<ArrayJob>> submit_arrays(SubmissionRequest const& request, ExperimentLayout const& layout,
                                            ExperimentSpec const& spec, std::vector<ArrayJob> const& arrays,
                                            Context& context);

/// Returns the job numbers as text: "12, 13".
std::string join_job_ids(std::vector<ArrayJob> const& arrays);

}  // namespace det::experiment
