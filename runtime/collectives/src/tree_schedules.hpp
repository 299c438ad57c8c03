#pragma once
#include <optional>

#include "schedule.hpp"

namespace det::collectives {

enum class Tree { first, second };

/// A rank's neighbours in an in-order binary tree: the subtree on one side of a rank has lower ranks, the
/// other one higher ranks.
struct TreeNeighbours {
    std::optional<Rank> parent;
    std::optional<Rank> below;
    std::optional<Rank> above;

    bool is_inner() const { return below || above; }
};

/// Two trees over the same ranks: the second is the first, shifted by one rank, so that the leaves of one
/// tree are inner ranks of the other.
TreeNeighbours tree_neighbours(Rank rank, int ranks, Tree tree);
/// The rank that has no parent.
Rank tree_top(int ranks, Tree tree);

// Schedules through trees. A tree with one root has it at rank 0.

/// Sends everything from the root, by a binomial tree, a chain or a double tree.
Schedule pass_down(SchedulePlan const& plan);
/// Combines everything at the root, by a binomial tree or a chain.
Schedule add_up(SchedulePlan const& plan);

/// With as many blocks as ranks: each rank ends with its own block and those of the ranks below it in a
/// binomial tree.
Schedule scatter_by_tree(SchedulePlan const& plan);
/// The way back.
Schedule gather_by_tree(SchedulePlan const& plan);

}  // namespace det::collectives
