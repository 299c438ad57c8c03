#pragma once
#include <det/experiment/submission_request.hpp>
#include <det/experiment/submit_arrays.hpp>

namespace det::experiment {

/// Writes the configuration as the user wrote it, the effective configuration, the secrets, and the scripts.
Status write_submission_files(SubmissionRequest const& request, RenderedExperiment const& experiment);

/// Returns the request's packed_code. codes::no_such_file if its archive no longer exists.
Result<std::optional<ContextSpec>> require_stored_code(SubmissionRequest const& request);

}  // namespace det::experiment
