#pragma once
#include <det/protocol/ids.hpp>

#include <optional>

namespace det::collectives {

enum class Tree { first, second };

/// A rank's neighbours in a binary tree in which everything to the one side of a rank lies below it,
/// everything to the other above (in order).
struct TreePlace {
    std::optional<Rank> parent;
    std::optional<Rank> below;
    std::optional<Rank> above;

    bool is_inner() const { return below || above; }
};

/// Two trees over the same ranks: the second is the first, shifted by one, so that leaves of the one are
/// inner in the other.
TreePlace tree_place(Rank rank, int ranks, Tree tree);
/// Who has no parent there.
Rank tree_top(int ranks, Tree tree);

}  // namespace det::collectives
