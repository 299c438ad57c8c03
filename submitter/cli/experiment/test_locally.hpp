#pragma once
#include <det/experiment/submission_request.hpp>

#include "command.hpp"

namespace det::cli {

/// Runs `experiment create --local --test`: becomes a python3 that trains and validates one batch of the trial
/// class on this host, in the directory of the code. Submits and records nothing.
/// \return codes::usage if the entrypoint names no trial class
Outcome test_locally(experiment::SubmissionOptions const& submission, Session& session);

}  // namespace det::cli
