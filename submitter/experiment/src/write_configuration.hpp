#pragma once
#include <det/experiment/submission_request.hpp>
#include <det/protocol/directory_layout.hpp>

namespace det::experiment {

/// Writes the configuration as the user wrote it, the effective configuration, and the secrets.
Status write_configuration(SubmissionRequest const& request, ExperimentLayout const& layout);

/// Returns the request's packed_code. codes::no_such_file if its archive no longer exists.
Result<std::optional<ContextSpec>> require_stored_code(SubmissionRequest const& request);

}  // namespace det::experiment
