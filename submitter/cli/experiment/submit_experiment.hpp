#pragma once
#include <det/experiment/prepare_submission.hpp>

#include "command.hpp"

namespace det::cli {

struct SubmitFlags {
    bool is_dry_run = false;           // prints the script, submits nothing
    bool follows_first_trial = false;  // prints what the first trial prints, until it has ended
};

/// `experiment create` and `fork`: from the configuration to the answer. A test is followed, and archived if
/// it completes.
Outcome submit_experiment(experiment::SubmissionOptions const& options, SubmitFlags flags, Session& session);

}  // namespace det::cli
