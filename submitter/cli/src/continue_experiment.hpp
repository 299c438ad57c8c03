#pragma once
#include <det/protocol/array_job.hpp>

#include <string>
#include <vector>

#include "config_changes.hpp"
#include "creation.hpp"
#include "open_experiment.hpp"

namespace det::cli {

/// The trials of an experiment that a continuation runs: the one of a single search, whatever became of it;
/// of a grid or random search those that failed or were cancelled. codes::wrong_state where there is nothing
/// to continue, or it must not be. Pure.
Result<std::vector<std::uint32_t>> plan_continuation(tracker::history::ExperimentView const& experiment);

/// Whether it was continued, and nothing has begun since: whoever continued it may have been cut off before
/// the jobs were released, or not. Pure.
bool has_just_been_continued(tracker::history::ExperimentView const& experiment);

/// What is to be done to an experiment that has ended.
struct Continuation {
    OpenExperiment experiment;
    Creation creation;  // with its code in packed_code
    std::vector<ConfigChange> changes;
    std::vector<std::uint32_t> trials;  // that run again
};

struct ContinuedExperiment {
    std::uint32_t revision = 0;
    std::vector<ArrayJob> arrays;
};

/// The continuation protocol: a directory revisions/<n> filled; jobs for these trials submitted, held; the
/// `continued` event with their ids; then the new spec.json in the old one's place, which names the revision
/// and is the moment from which everything else of it counts; only then are the jobs released. Cut off before
/// that moment the experiment is as it was, and the next continuation takes back what Slurm has of it; cut
/// off after it, the experiment is continued, and its jobs wait for finish_continuation.
Result<ContinuedExperiment, Diagnostics> continue_experiment(Continuation const& continuation,
                                                             Session& session);

/// From the moment on at which it was continued: the experiment's files are shown to people, its jobs are
/// released. Can be done again at any time. `layout` is that of the revision.
Status finish_continuation(ExperimentLayout const& layout, std::vector<ArrayJob> const& arrays,
                           Session& session);

/// Jobs in Slurm that say they are the experiment's and that it does not know: of a continuation that was cut
/// off.
Status cancel_strays(OpenExperiment const& experiment, Session& session);

}  // namespace det::cli
