#pragma once
#include <det/experiment/context.hpp>
#include <det/experiment/prepare_submission.hpp>
#include <det/protocol/array_job.hpp>

namespace det::experiment {

/// The job arrays of its plan, not yet submitted: their job numbers are 0.
std::vector<ArrayJob> plan_arrays(SubmissionRequest const& request);

/// The script of the first array as it would be submitted. The id need not be known yet.
Result<std::string> render_first_script(SubmissionRequest const& request, ExperimentId id = {});

/// Asks Slurm whether it would accept the first array. Returns the expected start, local time as Slurm writes
/// it; empty if Slurm gives none.
Result<std::string> check_with_slurm(SubmissionRequest const& request, Context& context);

/// Returns packed_code; codes::no_such_file if the archive no longer exists.
Result<std::optional<ContextSpec>> find_stored_code(SubmissionRequest const& request);

/// Writes the configuration as the user wrote it, the effective one, and the secrets.
Status write_configuration(SubmissionRequest const& request, ExperimentLayout const& layout);

/// Writes the scripts and submits the arrays, held: all or none. If Slurm refuses one, cancels those
/// submitted before.
Result<std::vector<ArrayJob>> submit_arrays(SubmissionRequest const& request, ExperimentLayout const& layout,
                                            ExperimentSpec const& spec, std::vector<ArrayJob> const& arrays,
                                            Context& context);

/// "12, 13"
std::string join_job_ids(std::vector<ArrayJob> const& arrays);

}  // namespace det::experiment
