#pragma once
#include <det/pack/tree.hpp>

#include <string_view>

namespace det::pack {

enum class LinkTarget {
    inside,
    nowhere,  // what it names is not packed, or it goes in a circle
    outside,  // of its source, or it is absolute
};

/// Where a link ends in the tree that is packed, over other links, as the kernel would go. Pure.
LinkTarget follow_link(ContextTree const& tree, Member const& link);

}  // namespace det::pack
