// A parent's descendants are consecutive nodes. They are divided into up to fan_out ranges of equal size: the
// first node of a range is a child, and the others are its descendants. So 64 nodes are one level, 4,160 two
// and 266,304 three, and no node has more descendants than another one of its level by more than one.
#include "node_tree.hpp"

#include <algorithm>
#include <cstdint>

namespace det::transport::node_tree {
namespace {

struct Range {
    std::int64_t begin = 0, end = 0;  // nodes
    std::int64_t size() const { return end - begin; }
    std::int64_t parts() const { return std::min<std::int64_t>(fan_out, size()); }
    std::int64_t begin_of(std::int64_t part) const { return begin + size() * part / parts(); }
    Range part(std::int64_t number) const { return {begin_of(number), begin_of(number + 1)}; }
    /// The part in which a node is that is in this range.
    Range part_of(int node) const { return part(((node - begin + 1) * parts() - 1) / size()); }
};

/// The descendants of a parent.
Range descendants_of(int nodes, int parent) {
    Range range{0, nodes};
    if (parent == supervisor) return range;
    for (;;) {
        range = range.part_of(parent);
        auto const first = range.begin++;
        if (first == parent) return range;
    }
}

}  // namespace

int find_parent(int nodes, int node) {
    int parent = supervisor;
    for (Range range{0, nodes};;) {
        range = range.part_of(node);
        if (range.begin == node) return parent;
        parent = static_cast<int>(range.begin++);
    }
}

std::vector<int> list_children(int nodes, int parent) {
    auto const range = descendants_of(nodes, parent);
    std::vector<int> children;
    for (std::int64_t part = 0; part < range.parts(); ++part)
        children.push_back(static_cast<int>(range.begin_of(part)));
    return children;
}

int choose_parent(int nodes, int node, std::function<bool(int candidate)> const& is_usable) {
    for (int parent = find_parent(nodes, node); parent != supervisor;) {
        if (is_usable(parent)) return parent;
        int const grandparent = find_parent(nodes, parent);
        auto siblings = list_children(nodes, grandparent);
        std::erase_if(siblings, [&](int each) { return each == parent || !is_usable(each); });
        if (!siblings.empty()) return siblings[static_cast<std::size_t>(node) % siblings.size()];
        parent = grandparent;
    }
    return supervisor;
}

}  // namespace det::transport::node_tree
