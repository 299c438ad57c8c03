#pragma once
#include <det/experiment/submission_request.hpp>
#include <det/protocol/array_job.hpp>
#include <det/protocol/experiment_spec.hpp>

namespace det::experiment {

struct Authorship {
    std::string owner;
    UtcTime time;
};

/// The directory of the checkpoints on the nodes; empty for a bucket.
std::string checkpoint_path(config::ExperimentConfig const& config);

/// Makes the ExperimentSpec, which describes the experiment to the programs in its jobs. Leaves its revisions
/// empty. Pure.
/// \param arrays in which its trials run
ExperimentSpec make_spec(SubmissionRequest const& request, ExperimentId id,
                         std::optional<ContextSpec> const& context, Authorship const& created,
                         std::vector<ArrayJob> const& arrays);

}  // namespace det::experiment
