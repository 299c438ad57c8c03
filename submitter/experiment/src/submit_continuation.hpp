#pragma once
#include <det/experiment/config_changes.hpp>
#include <det/experiment/open_experiment.hpp>
#include <det/experiment/prepare_submission.hpp>
#include <det/protocol/array_job.hpp>

#include <vector>

namespace det::experiment {

/// A checked continuation that is not submitted yet.
struct Continuation {
    OpenExperiment experiment;
    SubmissionRequest request;  // with its code in packed_code
    std::vector<ConfigChange> changes;
    std::vector<std::uint32_t> trials;  // the trials that run again
};

struct SubmittedContinuation {
    std::uint32_t revision = 0;
    std::vector<ArrayJob> arrays;
};

/// Submits a continuation in five steps:
/// 1. fill a directory revisions/<n>;
/// 2. submit jobs for these trials, held;
/// 3. append the `continued` event with the jobs' numbers;
/// 4. replace spec.json by the new one, which names the revision;
/// 5. release the jobs (finish_continuation).
/// Step 4 commits the continuation. If the process ends before it, the experiment is unchanged and
/// the next continuation cancels the jobs. If the process ends after it, finish_continuation may be repeated.
Result<SubmittedContinuation, Diagnostics> submit_continuation(Continuation const& continuation,
                                                               Context& context);

/// Copies the revision's configuration into the experiment's directory, where users look for it, and releases
/// the jobs. May be repeated. `layout` is the layout of the revision.
Status finish_continuation(ExperimentLayout const& layout, std::vector<ArrayJob> const& arrays,
                           Context& context);

}  // namespace det::experiment
