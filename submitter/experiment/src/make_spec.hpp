#pragma once
#include <det/experiment/prepare_submission.hpp>
#include <det/protocol/experiment_spec.hpp>

namespace det::experiment {

struct Authorship {
    std::string owner;
    UtcTime time;
};

/// What jobs will know of the experiment: the only configuration that code in jobs reads. Pure.
ExperimentSpec make_spec(SubmissionRequest const& request, ExperimentId id,
                         std::optional<ContextSpec> const& context, Authorship const& created);

}  // namespace det::experiment
