#pragma once
#include "agreement.hpp"

namespace det::collectives {

/// The part of a buffer that each rank sees to, in rank order.
using Blocks = std::vector<transport::MutableBytes>;

/// `bytes` in one block per rank, of nearly equal size and whole elements.
Blocks split_evenly(transport::MutableBytes bytes, std::size_t element_size, int ranks);

/// The block that `rank` has whole after ring_reduce_scatter.
int block_of(Rank rank, int ranks);

struct Segments {
    std::size_t size_bytes;         // whole elements
    std::span<std::byte> received;  // room for two of them
};

using Combine = std::function<void(std::span<std::byte> values, std::span<std::byte const> from_below)>;

/// Each block goes round once, beginning at the rank of its number, and is combined on the way.
Status ring_reduce_scatter(Channel channel, Blocks const& blocks, Segments segments, Combine const& combine);

/// Each block goes round once as it is; this rank begins with `own`, its left neighbour with the one before.
Status ring_allgather(Channel channel, Blocks const& blocks, int own);

}  // namespace det::collectives
