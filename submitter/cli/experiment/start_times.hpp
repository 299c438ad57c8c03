#pragma once
#include <det/experiment/prepare_submission.hpp>

#include "command.hpp"

namespace det::cli {

/// Runs `experiment create --when`: prints when trials of this and other sizes would start. Submits nothing.
Outcome print_start_times(experiment::SubmissionOptions const& options, Session& session);

}  // namespace det::cli
