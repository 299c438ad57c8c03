#pragma once
#include "schedule.hpp"

namespace det::collectives {

// What goes through trees. Where they have one root, it is rank 0.

/// Everything from the root, by a binomial tree, a chain or a double tree.
Schedule pass_down(SchedulePlan const& plan);
/// Everything combined at the root, in the same ways.
Schedule add_up(SchedulePlan const& plan);

/// Of as many blocks as ranks, each rank ends with its own and those of the ranks below it in a binomial
/// tree.
Schedule scatter_by_tree(SchedulePlan const& plan);
/// The way back.
Schedule gather_by_tree(SchedulePlan const& plan);

/// Both ends of an allreduce by two trees: their tops end with a half each, or begin with it.
Schedule add_up_double_tree(SchedulePlan const& plan);
Schedule pass_down_double_tree(SchedulePlan const& plan);

}  // namespace det::collectives
