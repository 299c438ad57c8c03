#pragma once
#include <det/experiment/submission_request.hpp>

#include "command.hpp"

namespace det::cli {

struct SubmitFlags {
    bool is_dry_run = false;           // prints the script, submits nothing
    bool follows_first_trial = false;  // prints the output of the first trial until the trial has ended
};

/// Runs `experiment create` and `fork`: loads the configuration, submits the experiment and prints the
/// answer. If options.sources.is_test, also prints the trial's output and archives the experiment if it
/// completes.
Outcome submit_experiment(experiment::SubmissionOptions const& options, SubmitFlags flags, Session& session);

/// Prints the output of a trial that was submitted until it has ended, and how it ended.
/// \return codes::experiment_failed if it has not completed
Outcome follow_submitted_trial(RootLayout const& root, TrialId trial, Session& session);

}  // namespace det::cli
