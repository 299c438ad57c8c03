#pragma once
#include <functional>
#include <vector>

namespace det::transport::node_tree {

// Which node of a run sends its beats to which other one. All functions are pure.

/// The place of a parent that is not a node: the supervisor.
inline constexpr int supervisor = -1;
/// Number of children that a node, and the supervisor, has in the tree.
inline constexpr int fan_out = 64;
/// Number of children that it takes while other parents are lost.
inline constexpr int children_max = 2 * fan_out;

/// \param node from 0 to nodes - 1
int find_parent(int nodes, int node);
/// The children of a node or of the supervisor, in ascending order.
std::vector<int> list_children(int nodes, int parent);

/// The parent that a node gets now. It is less deep in the tree than the node, so no two nodes become each
/// other's parents, whatever has been chosen for other nodes before.
/// \param is_usable whether a node (never the supervisor) can be the parent now
/// \return the parent in the tree if it is usable; else one of its siblings, different ones for different
///     nodes; else the same for the parent of the parent, and at last the supervisor
int choose_parent(int nodes, int node, std::function<bool(int candidate)> const& is_usable);

}  // namespace det::transport::node_tree
