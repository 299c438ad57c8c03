#pragma once
#include <det/pack/tree.hpp>

#include <string_view>

namespace det::pack {

enum class LinkTarget {
    inside,
    nowhere,  // dangling: the target is not packed, or the links form a cycle
    outside,  // the target is outside of the source, or absolute
};

/// Resolves a link in the packed tree, over other links, as the kernel does. Pure.
LinkTarget follow_link(ContextTree const& tree, Member const& link);

}  // namespace det::pack
