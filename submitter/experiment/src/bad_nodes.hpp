#pragma once
#include <det/config/experiment_config.hpp>
#include <det/experiment/context.hpp>
#include <det/plan/plan.hpp>
#include <det/protocol/directory_layout.hpp>

namespace det::experiment {

/// Excludes nodes on which runs of the user's experiments failed within the last slurm.bad_node_memory hours,
/// and reports them by Context::on_message. If too few nodes would be left, excludes none and reports that.
/// If Slurm or the records can't be read, changes nothing.
void exclude_bad_nodes(plan::SubmissionPlan& plan, config::ExperimentConfig const& config,
                       RootLayout const& root, Context& context);

}  // namespace det::experiment
