#pragma once
#include <functional>

#include "channel.hpp"
#include "schedule.hpp"

namespace det::collectives {

/// The memory of each block. The blocks of one step are contiguous.
using Blocks = std::vector<transport::MutableBytes>;

/// Divides `bytes` into blocks of whole elements. If it is not divisible, the first blocks have one more
/// element.
Blocks equal_blocks(transport::MutableBytes bytes, std::size_t element_bytes, int count);

/// The reduction of received elements.
struct Reduction {
    std::function<void(std::span<std::byte> values, std::span<std::byte const> others, Side others_are)>
        combine;
    std::function<void(std::span<std::byte> values)> finish;
};

/// The size of pipeline pieces (whole elements). `room` is memory for two pieces if the schedule combines.
struct Pieces {
    std::size_t size_bytes = 0;
    std::span<std::byte> room;
};

/// Executes this rank's part of a schedule. Sends complete in the background, and the next receives are
/// posted while a piece is combined or sent on. Empty blocks are not sent. The memory of all blocks must stay
/// valid until it returns.
Status run_schedule(Channel channel, Schedule const& schedule, Blocks const& blocks, Pieces pieces,
                    Reduction const& reduction = {});

}  // namespace det::collectives
