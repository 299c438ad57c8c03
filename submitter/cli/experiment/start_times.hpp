#pragma once
#include <det/experiment/submission_request.hpp>

#include "command.hpp"

namespace det::cli {

/// Runs `experiment create --when`: prints when trials of this and other sizes would start. Submits nothing.
Outcome print_start_times(experiment::SubmissionOptions const& options, Session& session);

}  // namespace det::cli
