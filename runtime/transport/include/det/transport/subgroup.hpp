#pragma once
#include <det/transport/transport.hpp>

#include <vector>

namespace det::transport {

/// A transport for a subset of the ranks, which are numbered in the order of `members`. This rank must be one
/// of them. It uses the upper half of the tags of `whole`; tags of `whole` and of the subgroup itself must be
/// below half of tag_max. Two ranks may share at most one subgroup. `whole` must outlive it.
std::unique_ptr<Transport> make_subgroup(Transport& whole, std::vector<Rank> members);

}  // namespace det::transport
