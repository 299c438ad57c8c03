#pragma once
#include <det/transport/transport.hpp>

#include <vector>

namespace det::transport {

/// Makes a transport for a subset of the ranks. members[i] has rank i in the subgroup. The subgroup uses the
/// upper half of the tags of `whole`, so messages over `whole` and over the subgroup must both have tags up
/// to tag_max / 2. Two ranks may share at most one subgroup. flush() and abandon() of the subgroup act on
/// `whole`.
///
/// \param whole must outlive the subgroup.
/// \param members must include the calling rank.
std::unique_ptr<Transport> make_subgroup(Transport& whole, std::vector<Rank> members);

}  // namespace det::transport
