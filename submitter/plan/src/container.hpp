#pragma once
#include <det/plan/plan.hpp>

namespace det::plan {

/// The container of the entrypoint, where the configuration has an image and the pool runs images. An image
/// that somebody asked for in a pool without a runtime is an error; the site's own default, and whatever the
/// runtime has no use for, are warnings. Pure.
std::optional<ContainerSpec> plan_container(config::ExperimentConfig const& config, site::Site const& site,
                                            SubmissionPlan const& plan, Diagnostics& found);

}  // namespace det::plan
