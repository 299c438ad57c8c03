#pragma once
#include <functional>

#include "channel.hpp"
#include "schedule.hpp"

namespace det::collectives {

/// The memory of each block. Where a step has several of them, they lie one behind the other.
using Blocks = std::vector<transport::MutableBytes>;

/// Blocks of whole elements; the first ones hold one more where it doesn't come out.
Blocks equal_blocks(transport::MutableBytes bytes, std::size_t element_bytes, int count);

/// What becomes of elements on the way.
struct Reduction {
    std::function<void(std::span<std::byte> values, std::span<std::byte const> others, Side others_are)>
        combine;
    std::function<void(std::span<std::byte> values)> finish;
};

/// In pieces of this size, whole elements; `room` for two of them where something is combined.
struct Pieces {
    std::size_t size_bytes = 0;
    std::span<std::byte> room;
};

/// This rank's part. Sends go on by themselves; what comes next is asked for while a piece is combined or
/// passed on. Blocks of no bytes are no messages. All blocks stay where they are until it returns.
Status run_schedule(Channel channel, Schedule const& schedule, Blocks const& blocks, Pieces pieces,
                    Reduction const& reduction = {});

}  // namespace det::collectives
