#pragma once
#include <det/transport/transport.hpp>

#include <vector>

namespace det::transport {

/// A part of the ranks, counted anew in the order of `members`, of which this rank is one. Its messages keep
/// out of the way of those that go through `whole` itself: tags of `whole` and of its parts stay below half
/// of tag_max. A rank is in one part with any other rank at most. `whole` outlives it.
std::unique_ptr<Transport> make_subgroup(Transport& whole, std::vector<Rank> members);

}  // namespace det::transport
