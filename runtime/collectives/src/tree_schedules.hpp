#pragma once
#include "schedule.hpp"

namespace det::collectives {

// What goes through trees. Where they have one root, it is rank 0.

/// Everything from the root, by a binomial tree, a chain or a double tree.
Schedule pass_down(Part const& part);
/// Everything combined at the root, in the same ways.
Schedule add_up(Part const& part);

/// Of as many blocks as ranks, each rank ends with its own and those of the ranks below it in a binomial
/// tree.
Schedule scatter_by_tree(Part const& part);
/// The way back.
Schedule gather_by_tree(Part const& part);

/// Both ends of an allreduce by two trees: their tops end with a half each, or begin with it.
Schedule add_up_double_tree(Part const& part);
Schedule pass_down_double_tree(Part const& part);

}  // namespace det::collectives
