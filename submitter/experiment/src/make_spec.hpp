#pragma once
#include <det/experiment/submission_request.hpp>
#include <det/protocol/experiment_spec.hpp>

namespace det::experiment {

struct Authorship {
    std::string owner;
    UtcTime time;
};

/// Makes the ExperimentSpec, from which programs in jobs know the experiment. Pure.
ExperimentSpec make_spec(SubmissionRequest const& request, ExperimentId id,
                         std::optional<ContextSpec> const& context, Authorship const& created);

}  // namespace det::experiment
