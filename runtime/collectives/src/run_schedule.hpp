#pragma once
#include <det/collectives/reduction.hpp>
#include <det/transport/transport.hpp>

#include <functional>

#include "schedule.hpp"

namespace det::collectives {

/// The transport and the tag by which an operation communicates. No concurrent operation uses the same tag.
struct Channel {
    transport::Transport& peers;
    transport::Tag tag;
};

/// The memory of each block. The blocks of one step must be adjacent in memory.
using Blocks = std::vector<transport::MutableBytes>;

/// Divides the memory into `count` blocks of whole elements. The first blocks have one element more than the
/// others if the elements cannot be divided evenly.
Blocks equal_blocks(transport::MutableBytes bytes, std::size_t element_bytes, int count);

/// How a schedule combines received elements with its own, and how it finishes fully reduced ones (a mean is
/// divided).
struct Reduction {
    std::function<void(std::span<std::byte> values, std::span<std::byte const> others, Side others_are)>
        combine;
    std::function<void(std::span<std::byte> values)> finish;
};

/// Blocks are sent and received in pieces of `size_bytes`. If the schedule combines, `size_bytes` is a
/// multiple of the element size, and `scratch` is memory for two pieces.
struct Pieces {
    std::size_t size_bytes = 0;
    std::span<std::byte> scratch;
};

/// Executes this rank's schedule, and blocks until it is done. Sends are started without waiting for the
/// receiver, and receives are posted ahead, so that messages arrive while this rank combines or forwards a
/// piece. Empty blocks are not sent. The memory of the blocks must stay valid until the function returns.
Status run_schedule(Channel channel, Schedule const& schedule, Blocks const& blocks, Pieces pieces,
                    Reduction const& reduction = {});

}  // namespace det::collectives
