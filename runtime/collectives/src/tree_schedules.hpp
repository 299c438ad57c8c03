#pragma once
#include <optional>

#include "schedule.hpp"

namespace det::collectives {

enum class Tree { first, second };

/// A rank's neighbours in an in-order binary tree: one subtree of a rank has lower positions, the other
/// subtree higher positions.
struct TreeNeighbours {
    std::optional<Rank> parent;
    std::optional<Rank> below;
    std::optional<Rank> above;

    bool is_inner() const { return below || above; }
};

/// Returns a rank's neighbours in one of two trees over the same ranks. The second tree is the first, shifted
/// by one rank, so that an inner rank of one tree is a leaf of the other.
TreeNeighbours tree_neighbours(Rank rank, int ranks, Tree tree);
/// The rank at the top of the tree, which has no parent.
Rank tree_top(int ranks, Tree tree);

// Schedules through trees. The root is rank 0.

/// Sends everything from the root, by a binomial tree, a chain or a double tree.
Schedule broadcast_by_tree(SchedulePlan const& plan);
/// Combines everything at the root, by a binomial tree or a chain.
Schedule reduce_by_tree(SchedulePlan const& plan);

/// With as many blocks as ranks: each rank ends with its own block and those of the ranks below it in a
/// binomial tree.
Schedule scatter_by_tree(SchedulePlan const& plan);
/// The reverse of scatter_by_tree: each rank receives the blocks of its subtree and sends them to its parent,
/// so the root ends with all blocks.
Schedule gather_by_tree(SchedulePlan const& plan);

}  // namespace det::collectives
