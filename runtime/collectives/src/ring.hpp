#pragma once
#include "agreement.hpp"

namespace det::collectives {

/// The part of a buffer that each rank sees to, in rank order.
using Blocks = std::vector<transport::MutableBytes>;

/// Each block goes round once as it is; this rank begins with `own`, its left neighbour with the one before.
Status ring_allgather(Channel channel, Blocks const& blocks, int own);

}  // namespace det::collectives
