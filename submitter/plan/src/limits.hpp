#pragma once
#include <det/plan/plan.hpp>

namespace det::plan {

/// What the pool does not give to a trial: slots, nodes, time, another QOS ... Pure.
Diagnostics check_limits(config::ExperimentConfig const& config, SubmissionPlan const& plan);

/// What could run, but not now: nodes that are down or drained, a partition that is. Warnings. Pure.
Diagnostics check_now(config::ExperimentConfig const& config, SubmissionPlan const& plan);

}  // namespace det::plan
